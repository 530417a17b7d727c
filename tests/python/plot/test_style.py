"""The house style leaves no traces, and files are the same every time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from standin import Result

from forebay.plot import queue_cdf, style

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    style.names()
    yield
    style.names()
    plt.close("all")


def queues() -> Result:
    time = np.arange(4) * 1_000_000
    both = ["a"] * 4 + ["b"] * 4
    table = {
        "variant": np.array(both, dtype=object),
        "run": np.zeros(8, dtype=int),
        "time_ns": np.tile(time, 2),
        "port": np.array(["bottleneck"] * 8, dtype=object),
        "pkts": np.array([0, 10, 10, 20, 0, 1, 2, 3]),
        "bytes": np.array([0, 10, 10, 20, 0, 1, 2, 3]) * 1500,
    }
    return Result({"queue": table}, runs=[("a", 0, 4e-3), ("b", 0, 4e-3)])


def figure(r: Result) -> Figure:
    made = queue_cdf(r).figure
    assert isinstance(made, Figure)
    return made


def test_global_settings_are_left_alone() -> None:
    before = dict(mpl.rcParams)
    with style.context(width="page", dark=True):
        queue_cdf(queues())
    assert dict(mpl.rcParams) == before


def test_widths_are_those_of_papers() -> None:
    assert figure(queues()).get_figwidth() == 3.35
    with style.context(width="page", height=2.0):
        made = figure(queues())
    assert (made.get_figwidth(), made.get_figheight()) == (7.0, 2.0)
    assert style.current().width is None
    with pytest.raises(ValueError, match="column"), style.context(width="poster"):
        pass


def test_use_lasts_and_context_ends() -> None:
    try:
        style.use(dark=True)
        assert style.current().dark
        with style.context(dark=False, size=10):
            assert not style.current().dark
            assert style.current().size == 10
        assert style.current().dark
    finally:
        style.use(dark=False)


@pytest.mark.parametrize("ending", ["svg", "pdf"])
def test_files_are_the_same_every_time(ending: str, tmp_path: Path) -> None:
    written = []
    for i in range(2):
        path = tmp_path / f"{i}.{ending}"
        style.names()
        figure(queues()).savefig(path)
        written.append(path.read_bytes())
    assert written[0] == written[1]
    assert b"Date" not in written[0]


def test_files_identical_across_processes(tmp_path: Path) -> None:
    code = (
        "import matplotlib; matplotlib.use('agg'); from test_style import queues; from forebay.plot import queue_cdf; "
        "import sys; queue_cdf(queues()).figure.savefig(sys.argv[1])"
    )
    here = Path(__file__).parent
    for name in ("a.svg", "b.svg"):
        subprocess.run([sys.executable, "-W", "error", "-c", code, tmp_path / name], check=True, cwd=here)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_pdf_fonts_are_embedded_truetype(tmp_path: Path) -> None:
    figure(queues()).savefig(tmp_path / "q.pdf")
    data = (tmp_path / "q.pdf").read_bytes()
    assert b"/Type3" not in data
    assert b"/CIDFontType2" in data or b"/TrueType" in data


def test_a_name_keeps_its_look() -> None:
    first = [style.look(n) for n in ("newreno", "cubic", "dctcp")]
    assert style.look("dctcp") == first[2]
    assert len({(look.color, str(look.dash)) for look in map(style.look, map(str, range(40)))}) >= 40
    style.names("dctcp")
    assert style.look("dctcp") == first[0]


def test_neighbours_differ_without_colour() -> None:
    looks = [style.look(str(i)) for i in range(6)]
    assert len({str(look.dash) for look in looks}) == 6
    assert len({look.marker for look in looks}) == 6
    assert len({look.hatch for look in looks}) == 6


def luminance(color: str) -> float:
    rgb = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return float(np.dot(rgb, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("dark", [False, True])
def test_lines_and_text_stand_out(dark: bool) -> None:
    def contrast(a: str, b: str) -> float:
        low, high = sorted([luminance(a), luminance(b)])
        return (high + 0.05) / (low + 0.05)

    with style.context(dark=dark) as theme:
        # WCAG 2.1: 4.5 for text (1.4.3), 3 for graphics (1.4.11), which the palette has for its first three on paper.
        assert contrast(theme.ink, theme.ground) > 7
        assert contrast(theme.quiet, theme.ground) > 4.5
        for i in range(7 if dark else 3):
            assert contrast(style.look(str(i)).color, theme.ground) >= 3


def test_own_axes_are_drawn_into() -> None:
    _, (left, right) = plt.subplots(1, 2)
    assert queue_cdf(queues(), ax=right) is right
    assert len(right.lines) == 2
    assert len(left.lines) == 0


def test_legend_only_with_several_lines() -> None:
    ax = queue_cdf(queues())
    legend = ax.get_legend()
    assert legend is not None
    assert [t.get_text() for t in legend.get_texts()] == ["a", "b"]
    one = queues()
    one.variants = ["a"]
    assert queue_cdf(one).get_legend() is None


def test_missing_matplotlib_error_names_extra() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from forebay import plot\n"
        "assert not any(m.startswith('matplotlib.') for m in sys.modules)\n"
        "try: plot._frame.need_matplotlib()\n"
        "except ImportError as e: print(e)"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "pip install 'forebay[plot]'" in said


def test_matplotlib_loads_lazily() -> None:
    code = "import sys; from forebay import plot; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"
