"""Settings of matplotlib that hold for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def settings(values: dict[str, Any]) -> Iterator[None]:
    """Set some of matplotlib's settings for a while.

    Its own `rc_context` would also take back what changes meanwhile: a notebook becomes interactive with the first figure.
    """
    import matplotlib as mpl

    settings: dict[Any, Any] = mpl.rcParams
    before = {key: settings[key] for key in values}
    settings.update(values)
    try:
        yield
    finally:
        settings.update(before)
