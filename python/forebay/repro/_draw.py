"""Figures in the house style, as byte-identical SVG and PNG."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from forebay.plot._settings import settings

from . import _style

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
        with _style.looks(), settings(_style.rc()):
            fig = plt.figure(figsize=figure.size, layout="constrained")
            try:
                figure.function(fig, {u: results[u] for u in figure.uses})
                # Laid out once; saving would repeat it for each format.
                if (layout := fig.get_layout_engine()) is not None:
                    layout.execute(fig)
                fig.set_layout_engine(None)
                fig.savefig(out / f"{figure.name}.svg", metadata={"Date": None, "Creator": "forebay"})
                if not quick:  # its pages show the SVG
                    fig.savefig(out / f"{figure.name}.png", dpi=150, metadata={"Software": None})
                outcome.figures[number] = figure.name
            except Exception:
                outcome.broken_figures[number] = traceback.format_exc()
            finally:
                plt.close(fig)
