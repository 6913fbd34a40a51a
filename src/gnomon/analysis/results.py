"""Results of analyses, to JSON and back, without loss.

A result is a frozen dataclass of numbers, strings, tuples, other results and numpy arrays. The text is plain
JSON (any reader can open it): a number that is not finite is written as the string "nan", "inf" or "-inf",
and an array as its dtype, shape and flat list of values.
"""

import json
import math
import re
import types
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from gnomon.declared import parse_json

DTYPE = r"[<>|=][biuf][1248]|[<>=]U[0-9]{1,3}"  # of an array: numbers, or short texts

Result = TypeVar("Result")


def to_json(result: Any) -> str:
    """The result as JSON text."""
    return json.dumps(_encode(result), allow_nan=False)


def from_json(cls: type[Result], text: str) -> Result:
    """The result of class `cls` that `to_json` wrote; ValueError if it is anything else."""
    try:
        return _decode(cls, parse_json(text))
    except (TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(f"this JSON is no {cls.__name__}: {error!r}") from None


def _encode(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        flat = [_encode(item) for item in value.ravel().tolist()]
        return {"dtype": value.dtype.str, "shape": list(value.shape), "values": flat}
    if isinstance(value, np.generic):
        return _encode(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a result cannot hold {type(value).__name__}; use numbers, strings, tuples, arrays, dataclasses")


def _decode(hint: Any, value: Any) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):  # only `X | None` occurs
        kept = next(argument for argument in arguments if argument is not type(None))
        return None if value is None else _decode(kept, value)
    if origin is tuple:
        kinds = [arguments[0]] * len(value) if arguments[-1] is Ellipsis else arguments
        return tuple(_decode(kind, item) for kind, item in zip(kinds, value, strict=True))
    if hint is np.ndarray or origin is np.ndarray:
        if not re.fullmatch(DTYPE, value["dtype"]):
            raise ValueError(f"this JSON has an array of type {value['dtype']!r:.40}")
        return np.array(value["values"], dtype=value["dtype"]).reshape(value["shape"])
    if is_dataclass(hint):
        return _decode_dataclass(hint, value)
    return float(value) if hint is float else value


def _decode_dataclass(cls: Any, value: dict[str, Any]) -> Any:
    names = {field.name for field in fields(cls)}
    if set(value) != names:
        wrong = sorted(set(value) ^ names)
        raise ValueError(f"this JSON is no {cls.__name__}: fields {', '.join(wrong)} are missing or unknown")
    hints = get_type_hints(cls)
    return cls(**{name: _decode(hints[name], item) for name, item in value.items()})
