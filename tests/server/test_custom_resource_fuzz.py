"""Random bodies and patches for custom resources: the server refuses or takes them, and never fails itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.calls import APPLY_PATCH, JSON_PATCH, KNOWN_500, MERGE_PATCH
from tests.server.custom_definitions import WIDGETS, define, version_of, widget
from tests.server.quiet_cluster import QuietCluster

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT: dict[str, Any] = {"type": "string"}
EMBEDDED: dict[str, Any] = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer", "default": 1},
                "name": {"type": "string", "nullable": True, "pattern": "^[a-z]*$"},
                "port": {"x-kubernetes-int-or-string": True},
                "template": EMBEDDED,
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "set": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "maxItems": 5,
                    "items": {**TEXT, "maxLength": 10},
                },
                "map": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {"name": TEXT}},
                },
            },
            "x-kubernetes-validations": [{"rule": "!has(self.replicas) || self.replicas < 10"}],
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": TEXT}},
    },
}
SUBRESOURCES = {
    "status": {},
    "scale": {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    },
}
FIELDS = st.sampled_from(
    (
        *("spec", "status", "metadata", "kind", "apiVersion", "replicas", "name", "port", "template", "any"),
        *("set", "map", "labels", "annotations", "finalizers", "ownerReferences", "selector", "uid", "x"),
        "resourceVersion",
    )
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "a", "A b", "Widget", "example.com/v1", "5", "2001-01-01T00:00:00Z"])
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=15,
)
OBJECTS = st.dictionaries(FIELDS, JSON, max_size=5)
POINTERS = st.lists(FIELDS | st.sampled_from(["0", "-", "~1"]), max_size=4).map(
    lambda steps: "".join(f"/{step}" for step in steps)
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "copy", "move", "test"]), "path": POINTERS},
    optional={"value": JSON, "from": POINTERS},
)
KNOWN = ("accessor error", "does not exist", "value cannot be set because", "no apiVersion field")
"""What kube-apiserver itself answers 500 with: objects without replicas, or with others at their path."""


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[QuietCluster]:
    with masthead.server.run(clock=VirtualClock, token=None, bootstrap=False) as running:
        cluster = QuietCluster(running)
        define(cluster, version_of(schema=SCHEMA, subresources=SUBRESOURCES), version_of("v2", SCHEMA))
        cluster.call("POST", WIDGETS, widget())
        yield cluster
        cluster.caller.close()


def check(cluster: QuietCluster, method: str, path: str, body: object, content_type: str) -> None:
    response = cluster.caller.call(method, path, body, content_type=content_type)
    if response.code == 500:
        message = response.json["message"]
        assert KNOWN_500.match(message) or any(each in message for each in KNOWN), (body, message)
    else:
        assert response.code < 500, response.body


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(OBJECTS, st.sampled_from(["", "/status", "/scale"]), st.booleans())
def test_objects(fuzzed: QuietCluster, fields: dict[str, Any], part: str, whole: bool) -> None:
    body = {**widget(), **fields} if whole else fields
    check(fuzzed, "PUT", f"{WIDGETS}/a{part}?dryRun=All", body, "application/json")
    if not part:
        check(fuzzed, "POST", f"{WIDGETS}?dryRun=All", body, "application/json")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(JSON, st.sampled_from(["", "/status", "/scale"]), st.sampled_from(["v1", "v2"]))
def test_merge_patches(fuzzed: QuietCluster, patch: Any, part: str, version: str) -> None:
    path = WIDGETS.replace("/v1/", f"/{version}/")
    check(fuzzed, "PATCH", f"{path}/a{part}", patch, MERGE_PATCH)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(OPERATIONS, max_size=4), st.sampled_from(["", "/status", "/scale"]))
def test_json_patches(fuzzed: QuietCluster, patch: list[Any], part: str) -> None:
    check(fuzzed, "PATCH", f"{WIDGETS}/a{part}", patch, JSON_PATCH)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(OBJECTS, st.sampled_from(["", "/status", "/scale"]), st.booleans())
def test_configurations(fuzzed: QuietCluster, fields: dict[str, Any], part: str, whole: bool) -> None:
    body = {**widget(), **fields} if whole else fields
    check(fuzzed, "PATCH", f"{WIDGETS}/a{part}?fieldManager=one", body, APPLY_PATCH)
    check(fuzzed, "PATCH", f"{WIDGETS}/a{part}?fieldManager=two&force=true", body, APPLY_PATCH)
