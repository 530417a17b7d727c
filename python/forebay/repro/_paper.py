"""A paper: its claims, and the functions that `paper.py` registers."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from forebay import _share

from . import _claims, _opinions, _toml

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._claims import Claim

F = TypeVar("F", bound="Callable[..., Any]")


@dataclass(frozen=True)
class Judge:
    """Function that measures a claim."""

    function: Callable[..., Any]
    uses: tuple[str, ...]
    #: Reason why it fails, or holds under a reading only: tested, not guessed.
    explanation: str


@dataclass(frozen=True)
class Figure:
    """Function that draws a figure of the document."""

    number: str
    title: str
    function: Callable[..., Any]
    uses: tuple[str, ...]
    claims: tuple[str, ...]
    #: One paragraph below the figure.
    caption: str
    #: Inches.
    size: tuple[float, float]
    #: Not drawn in a quick reproduction.
    full_only: bool

    @property
    def name(self) -> str:
        """Name of its files, without suffix."""
        if self.number.isdigit():
            return f"fig{int(self.number):02}"
        return self.number.lower().replace(" ", "-")


class Paper:
    """Reproduction of one document.

    Parameters
    ----------
    file
        `__file__` of `paper.py`. `claims.toml`, and `expected.toml` if there is one, are beside it.
    title
        Name of the document, for people.
    """

    def __init__(self, file: str, *, title: str = "") -> None:
        #: The paper's folder.
        self.folder = Path(file).resolve().parent
        #: Short name, equal to that of the folder.
        self.slug = self.folder.name
        #: Name of the document.
        self.title = title or self.slug
        #: Its claims, by name.
        self.claims: dict[str, Claim] = _claims.read(self.folder / "claims.toml")
        extra = self.folder / "expected.toml"
        #: Published values to lay over figures: `expected.toml`.
        self.expected: dict[str, Any] = _toml.read(extra) if extra.is_file() else {}
        #: What is known beyond the verdicts, by claim: `opinions.toml`.
        self.opinions: dict[str, _opinions.Opinion] = _opinions.read(self.folder / "opinions.toml", set(self.claims))
        #: Experiments, by name.
        self.experiments: dict[str, Callable[..., Any]] = {}
        #: Effect of the scale of an experiment's runs on its numbers, by its name.
        self.scale_notes: dict[str, str] = {}
        #: Measurement of each claim, by the claim's name.
        self.judges: dict[str, Judge] = {}
        #: The figures, by number.
        self.figures: dict[str, Figure] = {}

    def experiment(self, name: str, *, scale_note: str = "") -> Callable[[F], F]:
        """Register a function of a :class:`Run` under a name. It runs at most once per invocation.

        `scale_note` describes the effect of a smaller scale than the document's; it is shown with every claim of the experiment.
        """

        def register(function: F) -> F:
            if name in self.experiments:
                raise ValueError(f"{self.slug}: two experiments {name!r}")
            self.experiments[name] = function
            if scale_note:
                self.scale_notes[name] = " ".join(scale_note.split())
            return function

        return register

    def claim(self, name: str, *, uses: Sequence[str] = (), explanation: str = "") -> Callable[[F], F]:
        """Register the function that measures a claim of `claims.toml`.

        Parameters
        ----------
        name
            The claim's id.
        uses
            Experiments it needs: the function is called with a dict of what they returned, by name.
        explanation
            Why the claim does not hold, or holds under a reading only, as it was tested. Shown with the verdict.
        """

        def register(function: F) -> F:
            if name not in self.claims:
                raise ValueError(f"{self.slug}: claims.toml has no claim {name!r}")
            if name in self.judges:
                raise ValueError(f"{self.slug}: two functions measure {name!r}")
            self.judges[name] = Judge(function, tuple(uses), " ".join(explanation.split()))
            return function

        return register

    def figure(
        self,
        number: str,
        *,
        title: str,
        uses: Sequence[str] = (),
        claims: Sequence[str] = (),
        caption: str = "",
        width: float = 7.0,
        height: float = 2.6,
        full_only: bool = False,
    ) -> Callable[[F], F]:
        """Register the function that draws a figure (or a table) of the document.

        Parameters
        ----------
        number
            As the document counts: `"4"`; anything else, `"table-1"`, names the files as it is.
        title
            Content.
        uses
            Experiments it needs.
        claims
            Claims that it illustrates, shown beside it.
        caption
            Points to note, and differences from the document.
        width, height
            Size in inches. A page of a two-column paper is 7 wide, a column 3.35.
        full_only
            Not drawn, and its experiments not run for it, in a quick reproduction.

        The function receives a matplotlib figure in the house style and a dict of the experiments' results.
        """

        def register(function: F) -> F:
            if number in self.figures:
                raise ValueError(f"{self.slug}: two figures {number!r}")
            unknown = [c for c in claims if c not in self.claims]
            if unknown:
                raise ValueError(f"{self.slug}: figure {number}: claims.toml has no claim {', '.join(unknown)}")
            text = " ".join(caption.split())
            self.figures[number] = Figure(number, title, function, tuple(uses), tuple(claims), text, (width, height), full_only)
            return function

        return register


def load(folder: Path) -> Paper:
    """Load the paper of a folder: `paper` of its `paper.py`.

    The folder is a package while it is read, so `paper.py` may say `from .incast import ...`.

    Raises
    ------
    FileNotFoundError
        There is no `paper.py`.
    ValueError
        It registers something that does not exist.
    """
    folder = folder.resolve()
    if not (folder / "paper.py").is_file():
        raise FileNotFoundError(f"{folder} has no paper.py")
    name = "forebay_paper_" + folder.name.replace("-", "_")
    package = types.ModuleType(name)
    package.__path__ = [str(folder)]
    for old in [m for m in sys.modules if m == name or m.startswith(name + ".")]:
        del sys.modules[old]
    sys.modules[name] = package
    module = importlib.import_module(f"{name}.paper")
    paper = getattr(module, "paper", None)
    if not isinstance(paper, Paper):
        raise ValueError(f"{folder / 'paper.py'} has no Paper called `paper`")
    for kind, uses in [
        *((f"claim {n}", j.uses) for n, j in paper.judges.items()),
        *((f"figure {n}", f.uses) for n, f in paper.figures.items()),
    ]:
        unknown = [u for u in uses if u not in paper.experiments]
        if unknown:
            raise ValueError(f"{paper.slug}: {kind} uses {', '.join(unknown)}, which is no experiment")
    return paper


def find(where: str) -> list[Path]:
    """Return the folders of an argument: a folder, a name under `papers/`, or `all`.

    Papers under the working directory, or a parent folder, come before those installed with the package.

    Raises
    ------
    FileNotFoundError
        There is no such paper.
    """
    if Path(where, "paper.py").is_file():
        return [Path(where)]
    share = _share.folder()
    for base in [Path.cwd(), *Path.cwd().parents, *([share] if share else [])]:
        papers = base / "papers"
        if where == "all":
            found = sorted(p.parent for p in papers.glob("*/paper.py"))
            if found:
                return found
        elif (papers / where / "paper.py").is_file():
            return [papers / where]
    raise FileNotFoundError(f"no paper {where!r}: neither a folder with paper.py nor a name under papers/")
