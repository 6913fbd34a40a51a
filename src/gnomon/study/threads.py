"""A study computes on one thread in each process: its steps are small, and results do not depend on cores."""

import scipy.linalg  # noqa: F401 (only libraries that are loaded can be told)
import torch
from threadpoolctl import threadpool_limits


def use_one_thread() -> None:
    """Tell torch, and the linear algebra of numpy and scipy, which otherwise takes all cores in every process."""
    torch.set_num_threads(1)
    threadpool_limits(1, user_api="blas")
