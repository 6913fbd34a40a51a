"""Plain values from JSON or TOML into dataclasses with declared types; what does not fit is named in one line."""

import dataclasses
import types
import typing
from typing import Any


def build(kind: type, settings: Any) -> Any:
    """A config dataclass from plain JSON values, checked against the types that its fields declare."""
    if not isinstance(settings, dict):
        raise ValueError(f"{kind.__name__} is {settings!r}; it must be an object with settings")
    hints = typing.get_type_hints(kind)
    known = {f.name for f in dataclasses.fields(kind)}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise ValueError(f"{kind.__name__} has no setting {', '.join(unknown)}; it has {', '.join(sorted(known))}")
    return kind(**{name: as_declared(name, hints[name], value) for name, value in settings.items()})


def as_declared(name: str, kind: Any, value: Any) -> Any:
    """A value as its declared type: lists become tuples, tables become dataclasses. ValueError if it does not fit."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return build(kind, value)
    if isinstance(value, list):
        value = as_tuple(value)
    if type(value) is int and not in_64_bits(value):
        raise ValueError(f"{name} is {value}; it must fit into 64 bits")
    if not fits(kind, value):
        raise ValueError(f"{name} is {value!r}; it must be {in_words(kind)}")
    whole = next((each for each in choices(kind) if each is not types.NoneType), kind)
    return float(value) if whole is float and type(value) is int else value


def as_tuple(value: Any) -> Any:
    return tuple(as_tuple(item) for item in value) if isinstance(value, list) else value


def choices(kind: Any) -> tuple[Any, ...]:
    """The members of a union, or the type itself."""
    return typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)


def fits(kind: Any, value: Any) -> bool:
    """Whether a value (lists are tuples by now) is of a declared type."""
    if isinstance(kind, types.UnionType):
        return any(fits(each, value) for each in choices(kind))
    if typing.get_origin(kind) is tuple:
        kinds = typing.get_args(kind)
        if not isinstance(value, tuple):
            return False
        if kinds[-1] is Ellipsis:
            kinds = kinds[:1] * len(value)
        return len(kinds) == len(value) and all(map(fits, kinds, value))
    if type(value) is int and not in_64_bits(value):
        return False
    return type(value) in ((int, float) if kind is float else (kind,))


def in_64_bits(value: int) -> bool:
    return -(2**63) <= value < 2**63


def in_words(kind: Any) -> str:
    """A declared type as a user would call it."""
    if isinstance(kind, types.UnionType):
        return " or ".join(in_words(each) for each in choices(kind) if each is not types.NoneType)
    if typing.get_origin(kind) is tuple:
        kinds = typing.get_args(kind)
        count = "" if kinds[-1] is Ellipsis else f"{len(kinds)}, "
        return f"a list ({count}each {in_words(kinds[0])})"
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a text in quotes"}[kind]
