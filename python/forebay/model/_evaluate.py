"""Predictions of the models for a scenario."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._scenario import Scenario


@dataclass(frozen=True, slots=True)
class Value:
    """One predicted value."""

    name: str
    """Name of the value."""
    unit: str
    """``bit/s``, ``s``, ``packets`` or ``1``."""
    value: float | None
    """None: the model needs a value that only a run provides, such as DCTCP's marked fraction."""


@dataclass(frozen=True, slots=True)
class Section:
    """A model that applies to a variant; indexing by the name of a value returns its number."""

    model: str
    """Its name."""
    about: str
    """Subject of the model, with its source."""
    inputs: dict[str, str]
    """Its arguments, derived from the scenario, as text."""
    values: list[Value]
    """Predicted values."""
    notes: list[str]
    """Differences between the scenario and the model's assumptions."""

    def __getitem__(self, name: str) -> float | None:
        for v in self.values:
            if v.name == name:
                return v.value
        raise KeyError(f"{self.model} has no value {name!r}; it has {', '.join(v.name for v in self.values)}")

    def __contains__(self, name: object) -> bool:
        return any(v.name == name for v in self.values)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Predictions of the models for one variant of a scenario."""

    variant: str
    """Its name."""
    models: dict[str, Section]
    """Applicable models by name: ``incast``, ``trim``, ``dctcp``, ``share``, ``ceilings``."""
    not_applicable: dict[str, str]
    """Other models, with the reason why they do not apply."""


def evaluate(scenario: Scenario) -> dict[str, Evaluation]:
    """Evaluate the models that a scenario implies, as ``forebay run --world model`` does.

    Parameters
    ----------
    scenario : Scenario
        Nothing of it is simulated.

    Returns
    -------
    dict of Evaluation
        By variant.

    Raises
    ------
    ScenarioError
        If the scenario is wrong.

    Examples
    --------
    >>> import forebay as fb
    >>> said = fb.model.evaluate(fb.Scenario.load("scenarios/incast.toml"))["newreno"]
    >>> said.models["incast"]["N*, collapse from"], said.not_applicable["trim"]
    (15.0, 'no transport runs trim')
    """
    document = json.loads(scenario._native.models_json())
    found = {}
    for v in document["variants"]:
        models = {}
        for m in v["models"]:
            values = [Value(x["name"], x["unit"], x["model"]) for x in m["values"]]
            models[m["model"]] = Section(m["model"], m["about"], m["inputs"], values, m["notes"])
        found[v["variant"]] = Evaluation(v["variant"], models, {m["model"]: m["why"] for m in v["not_applicable"]})
    return found
