"""Results survive JSON exactly."""

import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from gnomon.analysis.results import from_json, to_json


@dataclass(frozen=True)
class Inner:
    name: str
    pair: tuple[float, int]


@dataclass(frozen=True, eq=False)
class Outer:
    value: float
    number: int
    kind: Literal["a", "nan"]
    flag: bool
    missing: float | None
    inner: tuple[Inner, ...]
    array: NDArray[np.float64]


def outer(array: Any, value: float = 0.1) -> Outer:
    return Outer(value, 3, "nan", True, None, (Inner("x", (1e-300, 2)), Inner("y", (-0.0, 3))), array)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    array=hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.int64, np.bool_]),
        hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
    ),
    value=st.floats(),
)
def test_round_trip_is_exact(array: np.ndarray, value: float) -> None:
    before = outer(array, value)
    after = from_json(Outer, to_json(before))
    np.testing.assert_array_equal(after.array, array, strict=True)  # values, shape and dtype
    np.testing.assert_equal(after.value, value)
    assert (after.inner, after.kind, after.flag, after.missing, after.number) == (
        before.inner,
        "nan",
        True,
        None,
        3,
    )
    assert isinstance(after.inner[0].pair, tuple)
    assert to_json(after) == to_json(before)


def test_text_is_standard_json_even_for_nan() -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    text = to_json(outer(np.array([np.nan, np.inf, 1.0]), value=float("nan")))
    fields = json.loads(text, parse_constant=refuse)
    assert fields["array"]["values"] == ["nan", "inf", 1.0]
    assert fields["value"] == "nan"


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot hold set"):
        to_json(outer({1, 2}))


def test_json_of_another_class_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no Outer: fields .*array"):
        from_json(Outer, to_json(Inner("x", (1.0, 2))))
