"""Decoding by schema: which zeros stay, as on a real server."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

import pytest

from masthead._meta.gvk import GroupVersionResource
from masthead._server.resources.catalog import Catalog
from masthead._server.resources.schema_facts import zeros_left_out

if TYPE_CHECKING:
    from masthead._server.resources.schema import Schema

Plain = dict[str, Any]

CONTAINER = ("spec", "containers", 0)


def schema_of(group: str, resource: str) -> Schema:
    return Catalog.builtin().require(GroupVersionResource(group, "v1", resource)).schema


def holder(obj: Plain, path: tuple[str | int, ...]) -> Plain:
    found: Any = obj
    for step in path:
        found = found[step]
    return cast("Plain", found)


POD: Plain = {"spec": {"containers": [{"name": "c", "securityContext": {}, "ports": [{"containerPort": 1}]}]}}
DEPLOYMENT: Plain = {"spec": {"template": {}}, "status": {}}


@pytest.mark.parametrize(
    ("group", "resource", "obj", "path", "field", "zero"),
    [
        ("", "pods", POD, ("spec",), "hostNetwork", False),
        ("", "pods", POD, ("spec",), "nodeName", ""),
        ("", "pods", POD, CONTAINER, "tty", False),
        ("", "pods", POD, CONTAINER, "workingDir", ""),
        ("", "pods", POD, (*CONTAINER, "ports", 0), "hostPort", 0),
        ("apps", "deployments", DEPLOYMENT, ("spec",), "minReadySeconds", 0),
        ("apps", "deployments", DEPLOYMENT, ("spec",), "paused", False),
        ("apps", "deployments", DEPLOYMENT, ("status",), "readyReplicas", 0),
        ("", "services", {"spec": {}}, ("spec",), "publishNotReadyAddresses", False),
        ("", "configmaps", {"metadata": {}}, ("metadata",), "generateName", ""),
    ],
)
def test_a_zero_that_go_omits_is_dropped(
    group: str, resource: str, obj: Plain, path: tuple[str | int, ...], field: str, zero: object
) -> None:
    given = copy.deepcopy(obj)
    holder(given, path)[field] = zero
    cleaned, unknown = schema_of(group, resource).clean(given)
    assert field not in holder(cleaned, path)
    assert unknown == []


@pytest.mark.parametrize(
    ("group", "resource", "obj", "path", "field", "zero"),
    [
        ("", "pods", POD, ("spec",), "terminationGracePeriodSeconds", 0),
        ("", "pods", POD, ("spec",), "automountServiceAccountToken", False),
        ("", "pods", POD, (*CONTAINER, "securityContext"), "allowPrivilegeEscalation", False),
        ("", "pods", POD, (*CONTAINER, "securityContext"), "runAsUser", 0),
        ("apps", "deployments", DEPLOYMENT, ("spec",), "replicas", 0),
        ("apps", "replicasets", DEPLOYMENT, ("status",), "replicas", 0),
        ("", "configmaps", {}, (), "immutable", False),
        ("", "persistentvolumeclaims", {"spec": {}}, ("spec",), "storageClassName", ""),
        ("coordination.k8s.io", "leases", {"spec": {}}, ("spec",), "holderIdentity", ""),
    ],
)
def test_a_meaningful_zero_stays(
    group: str, resource: str, obj: Plain, path: tuple[str | int, ...], field: str, zero: object
) -> None:
    given = copy.deepcopy(obj)
    holder(given, path)[field] = zero
    cleaned, _ = schema_of(group, resource).clean(given)
    assert holder(cleaned, path)[field] == zero


def test_texts_in_lists_and_maps_stay_however_short() -> None:
    pod = copy.deepcopy(POD)
    holder(pod, CONTAINER)["args"] = ["", "a"]
    pod["metadata"] = {"labels": {"a": ""}}
    cleaned, _ = schema_of("", "pods").clean(pod)
    assert holder(cleaned, CONTAINER)["args"] == ["", "a"]
    assert cleaned["metadata"]["labels"] == {"a": ""}


def test_an_object_without_a_name_gets_no_empty_name() -> None:
    cleaned, _ = schema_of("", "serviceaccounts").clean({"imagePullSecrets": [{}]})
    assert cleaned["imagePullSecrets"] == [{}]


def test_times_that_go_cannot_omit_are_null() -> None:
    state = {"terminated": {"exitCode": 1}}
    status = {"containerStatuses": [{"name": "c", "state": state}]}
    cleaned, _ = schema_of("", "pods").clean({"status": status})
    ended = cleaned["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended == {"exitCode": 1, "startedAt": None, "finishedAt": None}


def test_zeros_of_custom_types_are_kept() -> None:
    class Thing:
        pass

    assert zeros_left_out(Thing) == frozenset()  # type: ignore[arg-type]
