"""Figures in the house style, as byte-identical SVG and PNG."""

from __future__ import annotations

import io
import traceback
from typing import TYPE_CHECKING, Any

from forebay.plot._settings import settings

from . import _files, _style

if TYPE_CHECKING:
    from pathlib import Path

    from ._session import Outcome


def draw(outcome: Outcome, results: dict[str, Any], numbers: list[str], out: Path, *, quick: bool = False) -> None:
    """Draw the figures of a paper into a folder, as SVG and, unless `quick`, PNG, and record them in the outcome."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    out.mkdir(parents=True, exist_ok=True)
    for number, figure in outcome.paper.figures.items():
        if number not in numbers or number in outcome.broken_figures:
            continue
        drawn: dict[str, bytes] = {}
        with _style.looks(), settings(_style.rc()):
            fig = plt.figure(figsize=figure.size, layout="constrained")
            try:
                figure.function(fig, {u: results[u] for u in figure.uses})
                # Laid out once; saving would repeat it for each format.
                if (layout := fig.get_layout_engine()) is not None:
                    layout.execute(fig)
                fig.set_layout_engine(None)
                drawn["svg"] = _saved(fig, "svg", metadata={"Date": None, "Creator": "forebay"})
                if not quick:  # its pages show the SVG
                    drawn["png"] = _saved(fig, "png", dpi=150, metadata={"Software": None})
            except Exception:
                outcome.broken_figures[number] = traceback.format_exc()
                continue
            finally:
                plt.close(fig)
        for kind, contents in drawn.items():
            _files.write(out / f"{figure.name}.{kind}", contents)
        outcome.figures[number] = figure.name


def _saved(fig: Any, kind: str, **how: Any) -> bytes:
    """Return a figure as the bytes of a file."""
    file = io.BytesIO()
    fig.savefig(file, format=kind, **how)
    return file.getvalue()
