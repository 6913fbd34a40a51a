"""Memory that is freed is kept for the next time, instead of being given back to the system on every free."""

import ctypes
import sys

# Options of glibc's mallopt.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4


def keep_freed_memory() -> bool:
    """Tell glibc's allocator to keep big buffers; returns whether it did.

    Convolutions and scans allocate and free the same large buffers again and again. By default each of them comes fresh
    from the kernel, page by page. `benchmarks/throughput.py` measures what keeping them is worth.
    Elsewhere (macOS, musl) nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    options = ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, 2**31 - 1), (M_TOP_PAD, 64 * 2**20))
    return all(mallopt(option, value) == 1 for option, value in options)
