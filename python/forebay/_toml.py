"""Python values as TOML, the language of scenario files."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import NoReturn, cast

from ._errors import ScenarioError

WIDTH = 110
"""Longer lists are broken after each element."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def document(root: Mapping[str, object]) -> str:
    """Write a whole scenario: plain keys first, then its tables as sections."""
    keys = [(k, v) for k, v in root.items() if not _is_section(v)]
    lines = [f"{_key(k, k)} = {value(v, k, WIDTH)}" for k, v in keys]
    for k, v in root.items():
        if isinstance(v, Mapping):
            lines += ["", f"[{_key(k, k)}]", *_body(v, k)]
        elif _is_section(v):
            for i, item in enumerate(cast("Sequence[Mapping[str, object]]", v)):
                lines += ["", f"[[{_key(k, k)}]]", *_body(item, f"{k}.{i}")]
    return "\n".join(lines).lstrip("\n") + "\n"


def value(v: object, path: str, width: float = math.inf) -> str:
    """Write one value, long lists on several lines of at most `width`; `path` locates it in errors."""
    v = _plain(v)
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, Integral):
        return str(int(v))
    if isinstance(v, Real):
        number = float(v)
        if not math.isfinite(number):
            _refuse(path, f"is {number}", "numbers of a scenario are finite")
        return repr(number)
    if isinstance(v, str):
        return _text(v, path)
    if isinstance(v, os.PathLike):
        return _text(os.fsdecode(v), path)
    if isinstance(v, Mapping):
        items = [f"{_key(k, path)} = {value(x, f'{path}.{k}', width)}" for k, x in v.items()]
        return "{ " + ", ".join(items) + " }" if items else "{}"
    if isinstance(v, (list, tuple)):
        items = [value(x, f"{path}.{i}", width) for i, x in enumerate(v)]
        line = "[" + ", ".join(items) + "]"
        return line if len(line) <= width else "[\n  " + ",\n  ".join(items) + ",\n]"
    if v is None:
        _refuse(path, "is None", "leave the key out to get its default")
    return _refuse(path, f"is a {type(v).__name__}", "legal: numbers, texts, truth values, paths, lists and dicts")


def _plain(v: object) -> object:
    """Convert arrays and numbers of NumPy and similar libraries to Python values."""
    convert = getattr(v, "tolist", None)
    return convert() if callable(convert) else v


def _body(table: Mapping[str, object], path: str) -> list[str]:
    return [f"{_key(k, path)} = {value(v, f'{path}.{k}', WIDTH)}" for k, v in table.items()]


def _is_section(v: object) -> bool:
    if isinstance(v, Mapping):
        return True
    return isinstance(v, (list, tuple)) and bool(v) and all(isinstance(x, Mapping) for x in v)


def _key(key: object, path: str) -> str:
    if not isinstance(key, str):
        _refuse(path, f"has the key {key!r}, which is a {type(key).__name__}", "keys are texts")
    return key if _BARE.fullmatch(key) else _text(key, path)


def _text(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        _refuse(path, "is a text that UTF-8 cannot hold", "scenarios are UTF-8")
    # A TOML basic string.
    escaped = ("\\" + c if c in '"\\' else f"\\u{ord(c):04X}" if ord(c) < 0x20 or ord(c) == 0x7F else c for c in text)
    return '"' + "".join(escaped) + '"'


def _refuse(path: str, what: str, help: str) -> NoReturn:
    message = f"`{path}` {what}"
    raise ScenarioError(f"error: {message}\n  = {help}\n", [(message, None, None, None, help)])
