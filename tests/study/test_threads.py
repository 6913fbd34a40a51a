"""A study leaves the other cores to others."""

import subprocess
import sys

CODE = """
import torch
from threadpoolctl import threadpool_info
from gnomon.study.threads import use_one_thread
torch.set_num_threads(2)
use_one_thread()
blas = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
assert blas and set(blas) == {1}, blas
assert torch.get_num_threads() == 1
"""


def test_torch_numpy_and_scipy_compute_on_one_thread() -> None:
    """In a process of its own, since it would stay so for the tests that follow."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
