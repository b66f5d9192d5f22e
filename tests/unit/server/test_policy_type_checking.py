"""Type checking gives the warnings that kube-controller-manager 1.36.4 gave for the same policies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from masthead_server.admission.policies.type_checking import check_types
from masthead_server.resources.catalog import Catalog

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("policy_warnings.json").read_text("utf-8"))
CATALOG = Catalog.builtin()


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_warnings_are_those_of_the_real_controller(name: str) -> None:
    recorded = RECORDED[name]
    assert check_types(CATALOG, {"spec": recorded["spec"]}) == recorded["warnings"]


def test_a_policy_for_everything_is_not_checked() -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["pods"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "object.nothing == 1"}]}
    assert check_types(CATALOG, {"spec": spec}) == []
