"""Plain values from JSON or TOML into dataclasses with declared types; what does not fit is named in one line."""

import dataclasses
import json
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

Object = TypeVar("Object")


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
    if typing.get_origin(kind) is dict:  # of JSON, whose keys are texts
        return isinstance(value, dict) and all(fits(typing.get_args(kind)[1], entry) for entry in value.values())
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
    if typing.get_origin(kind) is dict:
        return f"an object (each entry {in_words(typing.get_args(kind)[1])})"
    return {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a text in quotes",
        dict: "an object",
    }[kind]


# JSON from files, which may be damaged or another program's.


def parse_json(text: str | bytes) -> Any:
    """The value that a JSON text holds; ValueError, in one line, if it is none."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_object(path: Path, kind: type[Object]) -> Object:
    """The JSON object in a file, with the entries that a TypedDict declares and no others.

    ValueError, which names the file, if it is damaged or an entry is not of its declared type.
    """
    try:
        return as_object(parse_json(path.read_bytes()), kind)
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None


def as_object(value: Any, kind: type[Object]) -> Object:
    """A JSON object's entries that a TypedDict declares; ValueError if one is missing or of another type."""
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    kinds = typing.get_type_hints(kind)
    missing = sorted(getattr(kind, "__required_keys__", frozenset[str]()) - value.keys())
    if missing:
        raise ValueError(f"{', '.join(missing)} is missing")
    found = {name: as_declared(name, kinds[name], entry) for name, entry in value.items() if name in kinds}
    return typing.cast(Object, found)
