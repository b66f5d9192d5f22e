"""The manual page about running an operator lists every option, variable and metric."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from masthead._cli.run import _parser
from masthead._controller.options import ENVIRONMENT
from masthead.controller import RunOptions
from masthead.metrics import ALL

MANUAL = (Path(__file__).parents[2] / "docs" / "running.md").read_text("utf-8")
ROWS = {row[2]: row for row in re.findall(r"^\|(.*?)\| `(\w+)` \| `(\w+)` \|(.*?)\|", MANUAL, re.MULTILINE)}
IN_WORDS = {
    "namespaces": "all",
    "leader_election": "off",
    "leader_election_namespace": "the client's",
    "sharding": "off",
    "ui": "off",
    "identity": "host name and a random part",
    "log_format": "text on a terminal, otherwise JSON",
    "log_level": "INFO",
}


@pytest.mark.parametrize("field", dataclasses.fields(RunOptions), ids=lambda field: field.name)
def test_every_option_is_there_with_its_variable_and_default(field: dataclasses.Field[object]) -> None:
    _, variable, name, default = ROWS[field.name]
    assert ENVIRONMENT[variable][0] == name
    shown = default.strip().strip("`")
    assert shown == IN_WORDS.get(name, f"{field.default:g}" if isinstance(field.default, float) else field.default)


def test_every_argument_is_there_and_no_other() -> None:
    arguments = {option for action in _parser("run")._actions for option in action.option_strings}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", MANUAL))
    assert arguments - named <= {"-h", "--help", "-v", "--verbose", "-n", "-A"}
    assert named - arguments <= {"--kubeconfig-out", "--show-managed-fields"}  # of kubectl, the second


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_every_metric_is_there(metric: object) -> None:
    assert f"`{metric.name}`" in MANUAL  # type: ignore[attr-defined]
