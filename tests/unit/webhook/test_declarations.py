"""Declared webhooks: names, rules, selectors and mistakes."""

from __future__ import annotations

from typing import Any

import pytest

import masthead
from masthead.api.core.v1 import ConfigMap, Namespace, Pod
from masthead.errors import ArgumentError
from masthead.webhook import AdmissionRequest, AdmissionWebhook, DeniedError


def check(_: AdmissionRequest[Any], _obj: object) -> None:
    """Admit everything."""


def declare(kind: Any = ConfigMap, function: Any = check, role: str = "validate", **options: Any) -> dict[str, Any]:
    app = masthead.Manager()
    getattr(app, role)(kind, **options)(function)
    [webhook] = app.webhooks.admission
    return dict(webhook.to_dict({"url": "https://here"}))


def test_a_webhook_admits_creates_and_updates_by_default() -> None:
    assert declare() == {
        "name": "check.configmaps.core",
        "admissionReviewVersions": ["v1", "v1beta1"],
        "clientConfig": {"url": "https://here"},
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"],
                "resources": ["configmaps"],
                "scope": "Namespaced",
            }
        ],
        "sideEffects": "None",
        "timeoutSeconds": 10,
    }


def test_options_are_fields_of_the_webhook() -> None:
    made = declare(
        Pod,
        role="mutate",
        name="a.b.c",
        operations=["DELETE"],
        subresources=["", "status"],
        object_selector="app in (a, b), !legacy",
        namespace_selector={"team": "shop"},
        match_conditions={"not-nodes": "!('system:nodes' in request.userInfo.groups)"},
        match_policy="Exact",
        failure_policy="Ignore",
        side_effects="NoneOnDryRun",
        timeout=3,
        reinvocation="IfNeeded",
    )
    assert made["rules"][0]["resources"] == ["pods", "pods/status"]
    assert made["objectSelector"] == {
        "matchExpressions": [
            {"key": "app", "operator": "In", "values": ["a", "b"]},
            {"key": "legacy", "operator": "DoesNotExist"},
        ]
    }
    assert made["namespaceSelector"]["matchExpressions"] == [{"key": "team", "operator": "In", "values": ["shop"]}]
    assert made["matchConditions"][0]["name"] == "not-nodes"
    assert (made["matchPolicy"], made["failurePolicy"], made["sideEffects"]) == ("Exact", "Ignore", "NoneOnDryRun")
    assert (made["timeoutSeconds"], made["reinvocationPolicy"]) == (3, "IfNeeded")


def test_the_scope_is_that_of_the_kind() -> None:
    assert declare(Namespace)["rules"][0]["scope"] == "Cluster"
    assert declare("example.com/v1/sites")["rules"][0]["scope"] == "*"


@pytest.mark.parametrize(
    "options",
    [
        {"name": "short"},
        {"name": "With.Capital.letters"},
        {"operations": "CREATE"},
        {"operations": ["READ"]},
        {"operations": []},
        {"subresources": "status"},
        {"timeout": 0},
        {"timeout": 31},
        {"timeout": 2.5},
        {"failure_policy": "fail"},
        {"match_policy": "Any"},
        {"side_effects": "Some"},
        {"reinvocation": "IfNeeded"},
        {"match_conditions": {"": "true"}},
        {"object_selector": "a > 3"},
        {"function": lambda: None},
        {"function": lambda *, a: a},
        {"function": ConfigMap},
        {"function": "check"},
        {"kind": "apps/v1/Deployment"},
        {"kind": 3},
    ],
    ids=[
        *("short name", "capital name", "operation text", "operation", "no operation", "subresource text"),
        *("no time", "long", "fraction", "policy", "match", "effects", "reinvocation", "condition", "selector"),
        *("no arguments", "keyword", "class", "text", "kind", "number"),
    ],
)
def test_other_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        declare(**options)


def test_names_are_unique() -> None:
    app = masthead.Manager()
    app.validate(ConfigMap)(check)
    app.mutate(ConfigMap)(check)
    with pytest.raises(ArgumentError, match="another name"):
        app.validate(ConfigMap)(check)


def test_denials_are_errors_of_the_package() -> None:
    assert isinstance(DeniedError("no"), masthead.MastheadError)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("request.userInfo.name == 'ann'", "undefined field 'name'"),
        ("request.name ==", "does not compile"),
        ("request.name", "must be a bool, not string"),
        (" ", "is not a CEL expression"),
        ("params.limit > 3", "undeclared reference to 'params'"),
    ],
    ids=["field", "syntax", "type", "blank", "variable"],
)
def test_match_conditions_are_compiled_when_declared(expression: str, problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem) as caught:
        AdmissionWebhook("validate", lambda _request, _obj: None, ConfigMap, match_conditions={"mine": expression})
    assert "match_conditions: 'mine'" in str(caught.value)


def test_match_conditions_may_use_all_variables_of_a_webhook() -> None:
    expression = (
        "(oldObject == null || object.data.size() > 1) && request.namespace != 'kube-system' && "
        "authorizer.requestResource.check('breakglass').allowed()"
    )
    made = AdmissionWebhook("validate", lambda _request, _obj: None, ConfigMap, match_conditions={"mine": expression})
    assert made.match_conditions == {"mine": expression}
