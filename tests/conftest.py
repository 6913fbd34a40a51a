"""Tests run side by side, so each process keeps to one thread."""

import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Also after a test that has asked for more."""
    torch.set_num_threads(1)


torch.set_num_threads(1)
