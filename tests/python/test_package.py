"""The installed package: what is in it, its command, its examples and its types."""

from __future__ import annotations

import doctest
import importlib
import importlib.metadata
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import forebay as fb
from conftest import ROOT, Cli
from forebay import _native

MODULES = sorted(m.name for m in pkgutil.iter_modules(fb.__path__) if m.name not in ("_native", "__main__"))


def test_what_is_installed() -> None:
    distribution = importlib.metadata.distribution("forebay")
    assert distribution.version == fb.__version__
    wheel = distribution.read_text("WHEEL")
    assert wheel is not None
    assert "Tag: cp310-abi3-" in wheel
    needed = [r for r in distribution.requires or [] if "extra ==" not in r]
    assert needed == ["numpy>=1.23"], "the only hard dependency"
    assert set(distribution.metadata.get_all("Provides-Extra") or []) == {
        "all",
        "arrow",
        "dask",
        "gym",
        "notebook",
        "pandas",
        "plot",
        "polars",
        "repro",
    }
    files = {str(f) for f in distribution.files or [] if "__pycache__" not in str(f)}
    kept = (ROOT / "python" / "forebay").rglob("*")
    source = {str(p.relative_to(ROOT / "python")) for p in kept if p.suffix in (".css", ".md", ".py", ".pyi", ".typed")}
    source.add("forebay/py.typed")
    shared = {f for f in files if f.startswith("forebay/share/")}
    folders = (ROOT / "scenarios", ROOT / "papers")
    assert shared == {f"forebay/share/{p.relative_to(ROOT)}" for d in folders for p in d.rglob("*") if wanted(p)}
    package = {f for f in files if f.startswith("forebay/")} - shared
    assert package - source == {"forebay/_native.abi3.so"}
    assert source - package == set()
    rest = {f for f in files - package - shared if ".dist-info/" not in f}
    assert rest == {"../../../bin/forebay"}
    names = {Path(f).name for f in files if ".dist-info/" in f}
    assert {"LICENSE-APACHE", "LICENSE-MIT", "METADATA", "RECORD", "WHEEL"} <= names


def wanted(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")


def test_examples_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert fb.Scenario.load("scenarios/two-flows.toml").name == "two-flows"
    with pytest.raises(fb.ScenarioError, match="no such"):
        fb.Scenario.load("scenarios/nonsense.toml")
    command = [sys.executable, "-m", "forebay"]
    out = subprocess.run([*command, "check", "scenarios/quickstart.toml"], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    assert "quickstart" in out.stdout
    out = subprocess.run([*command, "repro", "trim", "--figure", "99"], capture_output=True, text=True, check=False)
    assert out.returncode == 2
    assert "no figure 99; there are trim: " in out.stderr


def test_the_command(cli: Cli) -> None:
    script = Path(sys.executable).parent / "forebay"
    for command in ([str(script)], [sys.executable, "-m", "forebay"]):
        out = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        version, sources, commit = out.stdout.splitlines()
        assert (version, sources, out.stderr) == (f"forebay {fb.__version__}", f"sources {_native.__sources__}", "")
        assert commit.startswith("commit ")
        assert subprocess.run([*command], capture_output=True, check=False).returncode == 2
    usage = cli("run", "--nonsense")
    assert usage.returncode == 2
    assert "Usage: forebay run" in usage.stderr
    assert cli("list", "congestion-controls").stdout.splitlines()


def test_a_closed_pipe_is_nobodys_fault() -> None:
    script = Path(sys.executable).parent / "forebay"
    out = subprocess.run(f"{script} list | head -1", shell=True, capture_output=True, text=True, check=True)
    assert out.stdout.startswith("congestion controls")
    assert out.stderr == ""


@pytest.mark.parametrize("module", ["", *MODULES])
def test_examples(module: str) -> None:
    name = f"forebay.{module}".rstrip(".")
    outcome = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS, raise_on_error=False)
    assert outcome.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    with_examples = {
        t.name for m in ["", *MODULES] for t in finder.find(importlib.import_module(f"forebay.{m}".rstrip("."))) if t.examples
    }
    assert {"forebay", "forebay._scenario.Scenario", "forebay._run_many.run_many", "forebay._table.Table"} <= with_examples


def test_everything_public_is_documented() -> None:
    for name in fb.__all__:
        if name.startswith("__"):
            continue
        thing = getattr(fb, name)
        assert thing.__doc__, name
        if isinstance(thing, type):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert value.__doc__, f"{name}.{member}"


def python_blocks(page: Path) -> list[str]:
    """Return the blocks of Python of a page, without those that a comment excludes (tools/examples.py)."""
    text = re.sub(r"<!-- not run: .* -->\n```python\n.*?```", "", page.read_text(), flags=re.DOTALL)
    return [b.split("```")[0] for b in text.split("```python\n")[1:]]


PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if python_blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_code_of_pages_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of Python of a page, in order."""
    for folder in ("docs", "scenarios"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    for block in python_blocks(page):
        exec(compile(block, str(page), "exec"), scope)


def test_command_does_not_import_numpy() -> None:
    code = "import sys, forebay.__main__; print([m for m in ('numpy', 'pyarrow', 'forebay.model') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "[]\n"


def test_exported_names_resolve() -> None:
    code = "import forebay\nfor name in [*forebay.__all__, 'open']:\n    assert getattr(forebay, name) is not None, name"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert set(fb.__all__) <= set(dir(fb))
    with pytest.raises(AttributeError, match="nothing"):
        fb.nothing  # noqa: B018
