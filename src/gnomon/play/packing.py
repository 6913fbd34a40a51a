"""Tables of numbers as short text: whole multiples of a step, differences, zlib, base64. `web/matrix.js` reads them.

Neighbouring observations are seen alike, so differences from one row to the next are small and compress well.
"""

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVELS = 2**19 - 1  # of a column, at most: memories amplify small errors, so weights need more than 16 bits


def pack(table: NDArray, step: float | None = None) -> dict[str, Any]:
    """A table [rows, columns] as a JSON object.

    step: distance of two levels, so that no number is off by more than half of it (but for its last digits, if a
    column's range has more than `LEVELS` of them). None: as fine as `LEVELS` allow.
    """
    table = np.atleast_2d(np.asarray(table, dtype=np.float64))
    if not np.isfinite(table).all():
        raise ValueError("a table to be packed has numbers that are not finite")
    low = table.min(0)
    finest = np.maximum((table.max(0) - low) / LEVELS, 1e-12)
    steps = finest if step is None else np.maximum(finest, step)
    level = np.rint((table - low) / steps).astype(np.int64)
    difference = np.diff(level, axis=0, prepend=0)
    zigzag = ((difference << 1) ^ (difference >> 63)).T  # small, and without a sign: [columns, rows]
    depth = max(1, -(-int(zigzag.max()).bit_length() // 8))  # bytes of a number
    planes = b"".join((zigzag >> 8 * byte).astype(np.uint8).tobytes() for byte in range(depth))
    return {
        "rows": table.shape[0],
        "columns": table.shape[1],
        "bytes": depth,
        "low": [float(f"{value:.9g}") for value in low],
        "step": [float(f"{value:.9g}") for value in steps],
        "data": base64.b64encode(zlib.compress(planes, 9)).decode(),
    }


def unpack(packed: dict[str, Any]) -> NDArray[np.float64]:
    """The table [rows, columns] that `pack` was given, to within half a step."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), np.uint8)
    planes = planes.reshape(packed["bytes"], packed["columns"], packed["rows"]).astype(np.int64)
    zigzag = (planes << (8 * np.arange(packed["bytes"]))[:, None, None]).sum(0)
    level = ((zigzag >> 1) ^ -(zigzag & 1)).cumsum(1).T
    return np.array(packed["low"]) + level * np.array(packed["step"])
