"""Definitions that are refused, large or hostile: nothing is half-installed, and other requests are served
meanwhile."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import Caller
from tests.server.custom_definitions import (
    ANYTHING,
    DEFINITIONS,
    GROUP,
    NAME,
    WIDGETS,
    define,
    definition,
    version_of,
    widget,
)

if TYPE_CHECKING:
    from tests.server.quiet_cluster import QuietCluster

TEXT: dict[str, Any] = {"type": "string"}
UNPROCESSABLE = 422
NOT_FOUND = 404


def object_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


HOSTILE: dict[str, dict[str, Any]] = {
    "not structural": object_of(a={}),
    "a reference to itself": object_of(a={"$ref": "#/properties/a"}),
    "a rule that does not compile": object_of(a={"type": "string", "x-kubernetes-validations": [{"rule": "self =="}]}),
    "a rule that costs too much": object_of(
        a={
            "type": "array",
            "items": TEXT,
            "x-kubernetes-validations": [{"rule": "self.all(a, self.all(b, a == b))"}],
        }
    ),
    "a pattern that is none": object_of(a={"type": "string", "pattern": "(a"}),
    "a pattern that is too large": object_of(a={"type": "string", "pattern": "(" * 1_001 + ")" * 1_001}),
    "a default of the wrong type": object_of(a={"type": "string", "default": {"b": 1}}),
    "a default that is refused by a rule": object_of(
        a={"type": "string", "default": "a", "x-kubernetes-validations": [{"rule": "self != 'a'"}]}
    ),
}


@pytest.mark.parametrize("schema", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_definition_that_is_refused_leaves_nothing_behind(cluster: QuietCluster, schema: dict[str, Any]) -> None:
    groups = cluster.call("GET", "/apis")

    refused = cluster.caller.call("POST", DEFINITIONS, definition(version_of(schema=schema)))

    assert refused.code == UNPROCESSABLE, refused.body
    assert cluster.call("GET", DEFINITIONS)["items"] == []
    assert cluster.call("GET", "/apis") == groups
    assert cluster.caller.call("GET", WIDGETS).code == NOT_FOUND
    define(cluster)
    assert cluster.call("GET", WIDGETS)["items"] == []


@pytest.mark.parametrize("schema", HOSTILE.values(), ids=HOSTILE.keys())
def test_an_update_that_is_refused_leaves_the_old_schema_in_force(
    cluster: QuietCluster, schema: dict[str, Any]
) -> None:
    define(cluster, version_of(schema=object_of(spec=object_of(size={"type": "integer"}))))
    patch = {"spec": {"versions": [version_of(schema=schema)]}}

    refused = cluster.caller.call("PATCH", f"{DEFINITIONS}/{NAME}", patch, content_type="application/merge-patch+json")

    assert refused.code == UNPROCESSABLE, refused.body
    made = cluster.call("POST", WIDGETS, widget(spec={"size": 1, "unknown": 2}))
    assert made["spec"] == {"size": 1}


@pytest.mark.slow
def test_other_requests_are_served_while_a_large_definition_is_reviewed(cluster: QuietCluster) -> None:
    properties = {f"f{index}": {"type": "string", "pattern": f"^{'a{1000}' * 9}{index}$"} for index in range(2_000)}
    large = definition(version_of(schema={"type": "object", "properties": properties}))
    codes: list[int] = []
    done = threading.Event()

    def create() -> None:
        with closing(Caller(cluster.server.url)) as caller:
            codes.append(caller.call("POST", DEFINITIONS, large).code)
        done.set()

    thread = threading.Thread(target=create)
    thread.start()
    served = 0
    while not done.is_set():
        cluster.caller.call("GET", "/version")
        served += not done.is_set()
    thread.join()

    assert codes == [201]
    # It takes about a second. Before definitions were reviewed in a thread, none or one was served in the meantime.
    assert served > 10


def test_many_definitions_are_served_side_by_side(cluster: QuietCluster) -> None:
    for index in range(100):
        define(cluster, plural=f"things{index}", kind=f"Thing{index}")
    assert len(cluster.call("GET", f"/apis/{GROUP}/v1")["resources"]) == 100
    for index in range(0, 100, 33):
        assert cluster.call("GET", f"/apis/{GROUP}/v1/things{index}")["kind"] == f"Thing{index}List"


def test_definitions_that_want_the_same_names_get_them_in_turn(cluster: QuietCluster) -> None:
    for plural in ("ones", "twos", "threes"):
        define(cluster, version_of(schema=ANYTHING), plural=plural, kind="Thing")

    def served() -> list[str]:
        found = cluster.call("GET", f"/apis/{GROUP}/v1")["resources"]
        return [each["name"] for each in found]

    assert served() == ["ones"]
    cluster.call("DELETE", f"{DEFINITIONS}/ones.{GROUP}")
    assert len(served()) == 1
    cluster.call("DELETE", f"{DEFINITIONS}/{served()[0]}.{GROUP}")
    assert len(served()) == 1
