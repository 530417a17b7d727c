"""Temporary settings of matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def settings(values: dict[str, Any]) -> Iterator[None]:
    """Set some of matplotlib's settings temporarily.

    Its own `rc_context` would also revert changes made meanwhile: a notebook becomes interactive with the first figure.
    """
    import matplotlib as mpl

    settings: dict[Any, Any] = mpl.rcParams
    before = {key: settings[key] for key in values}
    settings.update(values)
    try:
        yield
    finally:
        settings.update(before)
