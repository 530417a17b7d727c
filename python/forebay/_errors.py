"""Exceptions, with the messages of the command line."""

from __future__ import annotations

from typing import Any, NamedTuple


class ForebayError(Exception):
    """Base of all errors of this package."""


class Diagnostic(NamedTuple):
    """One error in a scenario."""

    message: str
    """Description of the error."""
    file: str | None
    """Name of the file, or ``--set`` for a change; None when the error has no place."""
    line: int | None
    """Line number, from 1."""
    column: int | None
    """Column in the line, in characters from 1."""
    help: str | None
    """How to correct it."""


class ScenarioError(ForebayError, ValueError):
    """A scenario is invalid.

    ``str()`` of it equals the message of ``forebay run`` for the same scenario, with the invalid lines.

    Attributes
    ----------
    errors : list of Diagnostic
        All that is wrong with the scenario, in its order.
    index : int or None
        Number of the scenario, from 0, if there were several.

    Examples
    --------
    >>> import forebay as fb
    >>> try:
    ...     fb.Scenario.load("scenarios/two-flows.toml").with_({"topology.senders": 0}).check()
    ... except fb.ScenarioError as e:
    ...     print(e)
    ...     print(e.errors[0].file, e.errors[0].line, e.errors[0].column)
    error: `senders` is 0
     --> --set:1:18
      |
    1 | topology.senders=0
      |                  ^ legal: 1 to 1048574
    --set 1 18
    """

    errors: list[Diagnostic]
    index: int | None

    def __init__(self, text: str, errors: list[tuple[str, str | None, int | None, int | None, str | None]] | None = None) -> None:
        super().__init__(text, errors)
        self.errors = [Diagnostic(*e) for e in errors or []]
        self.index = None

    def __str__(self) -> str:
        text: str = self.args[0]
        return text.rstrip("\n")


class ModelError(ForebayError, ValueError):
    """An argument is outside the range of a model.

    Attributes
    ----------
    argument : str
        Its name.
    message : str
        Its value and the legal range.

    Examples
    --------
    >>> import forebay as fb
    >>> try:
    ...     fb.model.incast(senders=65, rate=1e9, rtt=100e-6, buffer=64, block=256_000)
    ... except fb.ModelError as e:
    ...     print(e)
    `senders` is 65; legal: 1 to 64
    """

    argument: str
    message: str

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(argument, message)
        self.argument = argument
        self.message = message

    def __str__(self) -> str:
        return f"`{self.argument}` {self.message}"


class StoreError(ForebayError, OSError):
    """Results cannot be written or read.

    Attributes
    ----------
    message : str
        Failed operation, with its path.
    help : str
        Remedy.
    """

    message: str
    help: str

    def __init__(self, text: str, message: str = "", help: str = "") -> None:
        super().__init__(text)
        self.message = message
        self.help = help

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.message, self.help)

    def __str__(self) -> str:
        return str(self.args[0]).rstrip("\n")


class InternalError(ForebayError, RuntimeError):
    """A defect in forebay, such as a violated assertion of the engine. Results of the same run must not be trusted.

    Please report it with the scenario and the seed.
    """

    def __str__(self) -> str:
        return f"a defect in forebay, please report it with the scenario and the seed: {self.args[0]}"
