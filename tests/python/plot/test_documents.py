"""The notebook runs from top to bottom, and so does the code of the guide; its pictures are those the code draws."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from matplotlib import pyplot as plt
from nbclient import NotebookClient

from forebay.plot import style

ROOT = Path(__file__).parents[3]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give an empty folder with the scenarios in it to work in."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    style.names()
    return tmp_path


@each_notebook
def test_the_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # ipykernel warns about its own innards; none of that is the notebook's.
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    images = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs if "image/png" in o.get("data", {})]
    plots = sum(len(re.findall(r"fb\.plot\.\w+\(", c.source)) for c in notebook.cells if c.cell_type == "code")
    assert len(images) == plots > 0
    errors = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs if o.get("name") == "stderr"]
    assert errors == []


@each_notebook
def test_the_notebook_is_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


def test_incast_curve_in_ten_lines(root: Path) -> None:
    space = runpy.run_path(str(ROOT / "docs/snippets/incast_curve.py"))
    ax = space["ax"]
    assert (root / "incast.svg").stat().st_size > 10_000
    assert [line.get_label() for line in ax.lines] == ["newreno", "dctcp", "newreno rto-min=10ms"]
    newreno, dctcp, short = (list(line.get_ydata()) for line in ax.lines)
    # The known result of incast: NewReno collapses, DCTCP later, and a shorter timer makes the losses cheap.
    assert newreno[-1] < 0.3 * newreno[0]
    assert dctcp[6] > dctcp[0] > 2 * dctcp[-1]
    assert short[-1] > 2 * newreno[-1]
    plt.close("all")


def test_readme_shows_incast_curve() -> None:
    code = (ROOT / "docs/snippets/incast_curve.py").read_text().split('"""\n\n', 1)[1]
    assert f"```python\n{code}```\n" in (ROOT / "README.md").read_text()


def test_the_pictures_of_the_guide(root: Path) -> None:
    subprocess.run([sys.executable, ROOT / "docs/snippets/figures.py", root / "figures"], check=True, cwd=root)
    drawn = {p.name for p in (root / "figures").iterdir()}
    assert drawn == {p.name for p in (ROOT / "docs/figures").glob("*.png")}
    guide = (ROOT / "docs/reference/python.md").read_text()
    assert drawn == set(re.findall(r"\(\.\./figures/(\w+\.png)\)", guide))
