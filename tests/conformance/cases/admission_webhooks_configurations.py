"""Configurations of admission webhooks: what the server stores, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.webhooks import hook_of

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Admission webhooks: configurations")
KINDS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
CLIENT: Plain = {"url": "https://127.0.0.1/x"}


def try_hooks(api: Api, *hooks: Plain) -> None:
    """Create both kinds of configurations with each webhook, in a dry run."""
    for hook in hooks:
        for kind in KINDS:
            _create(api, kind, [hook], dryRun="All")


def _create(api: Api, kind: str, hooks: list[Plain], **query: str) -> None:
    body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": api.namespace}}
    path = f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s"
    api.request("POST", path, {**body, "webhooks": hooks}, query=query)


def _path(api: Api, kind: str) -> str:
    return f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s/{api.namespace}"


def hook(api: Api, **fields: Any) -> Plain:
    """A webhook that is valid, but for these fields."""
    return hook_of(api, "a", CLIENT, **fields)


@case("a webhook gets defaults")
def _(api: Api) -> None:
    service = {"service": {"name": "hook", "namespace": "default"}}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    smallest = {"name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"]}
    for client in (CLIENT, service):
        try_hooks(api, {**smallest, "clientConfig": client, "rules": [rule]})


@case("certificates of a webhook")
def _(api: Api) -> None:
    for bundle in ("", "bm9uZQ==", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t", "%"):
        try_hooks(api, hook(api, clientConfig={**CLIENT, "caBundle": bundle}))


@case("URLs of a webhook")
def _(api: Api) -> None:
    for url in (
        "",
        "http://a/x",
        "https://",
        "https://a?b=c",
        "https://a#b",
        "https://u:p@a/",
        "https://a:70000/",
        "a",
    ):
        try_hooks(api, hook(api, clientConfig={"url": url}))


@case("services of a webhook")
def _(api: Api) -> None:
    services: list[Plain] = [
        {},
        {"name": "a"},
        {"namespace": "a"},
        {"name": "a", "namespace": "b", "path": "x"},
        {"name": "a", "namespace": "b", "path": "/x//y"},
        {"name": "a", "namespace": "b", "path": "/x/A B"},
        {"name": "a", "namespace": "b", "port": 0},
        {"name": "a", "namespace": "b", "port": 70000},
        {"name": "A", "namespace": "B"},
    ]
    try_hooks(api, *(hook(api, clientConfig={"service": service}) for service in services))


@case("selectors of a webhook")
def _(api: Api) -> None:
    selectors: list[Plain] = [
        {"matchLabels": {"not a key!": "v"}},
        {"matchLabels": {"a": "not a value!"}},
        {"matchExpressions": [{"key": "a", "operator": "Foo"}]},
        {"matchExpressions": [{"key": "a", "operator": "In"}]},
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
    ]
    for selector in selectors:
        try_hooks(api, hook(api, objectSelector=selector), hook(api, namespaceSelector=selector))


@case("conditions of a webhook")
def _(api: Api) -> None:
    conditions: list[list[Plain]] = [
        [{"name": "a", "expression": "object.x"}],
        [{"name": "a", "expression": "true"}, {"name": "a", "expression": "foo"}],
        [{"name": "not a name!", "expression": "true"}],
        [{"name": "", "expression": ""}],
        [{"name": "a", "expression": "authorizer.group('').resource('pods').check('get').allowed()"}],
        [{"name": "a", "expression": "request.userInfo.username.startsWith('a') || request.dryRun"}],
        [{"name": "a", "expression": "oldObject.metadata.name == object.metadata.name"}],
        [{"name": "a", "expression": "[1, 2].all(x, x > 'a')"}],
        [{"name": "a", "expression": "duration('x') == duration('1s')"}],
    ]
    try_hooks(api, *(hook(api, matchConditions=found) for found in conditions))


@case("an update is not refused for what was wrong before")
def _(api: Api) -> None:
    for kind in KINDS:
        _create(api, kind, [hook(api, matchConditions=[{"name": "a", "expression": "true"}])])
        changes: list[Plain] = [
            {"webhooks": [hook(api, matchConditions=[{"name": "a", "expression": "foo"}])]},
            {"webhooks": [hook(api, sideEffects="Some")]},
            {"webhooks": [hook(api), hook(api)]},
            {"webhooks": [hook(api, admissionReviewVersions=["v3"])]},
            {"webhooks": []},
            {"webhooks": None},
        ]
        for change in changes:
            api.request("PATCH", _path(api, kind), change, headers={"Content-Type": "application/merge-patch+json"})


@case("two webhooks of one name")
def _(api: Api) -> None:
    for kind in KINDS:
        _create(api, kind, [hook(api), hook(api)], dryRun="All")


@case("the generation counts changes of the webhooks")
def _(api: Api) -> None:
    for kind in KINDS:
        _create(api, kind, [hook(api)])
        for change in ({"metadata": {"labels": {"a": "b"}}}, {"webhooks": [hook(api, timeoutSeconds=5)]}):
            api.request("PATCH", _path(api, kind), change, headers={"Content-Type": "application/merge-patch+json"})
