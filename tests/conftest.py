"""Tests run side by side, so each process keeps to one thread."""

import torch

torch.set_num_threads(1)
