"""The bootstrap objects have the names and contents that those of a real kube-apiserver have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import Caller

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real_server import RealServer

pytestmark = pytest.mark.real

PATHS = [
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    "/apis/networking.k8s.io/v1/servicecidrs",
]


@pytest.fixture(scope="module")
def embedded() -> Iterator[Caller]:
    # Without controllers, which kube-apiserver does not run either.
    with masthead.server.run(token=None, controllers=False) as server:
        caller = Caller(server.url)
        yield caller
        caller.close()


def by_name(listed: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in listed["items"]:
        meta = each["metadata"]
        for assigned in ("uid", "resourceVersion", "creationTimestamp"):
            meta.pop(assigned, None)
        for entry in meta["managedFields"]:
            del entry["time"]
        for condition in (each.get("status") or {}).get("conditions") or ():
            del condition["lastTransitionTime"]
        each.get("spec", {}).pop("cidrs", None)  # an option of kube-apiserver
        # What kube-controller-manager would write there: the rules of aggregated roles, and another message.
        if "aggregationRule" in each:
            del each["rules"]
            entries = meta["managedFields"]
            meta["managedFields"] = [
                entry for entry in entries if entry["manager"] != "clusterrole-aggregation-controller"
            ]
        if meta["name"] == "kubernetes":
            each["status"]["conditions"][0]["message"] = ""
        found[f"{meta.get('namespace', '')}/{meta['name']}"] = each
    return found


@pytest.mark.parametrize("path", PATHS)
def test_they_are_the_same(real_server: RealServer, embedded: Caller, path: str) -> None:
    assert by_name(embedded.call("GET", path).json) == by_name(real_server.call("GET", path))


def test_every_group_version_has_its_api_service(real_server: RealServer, embedded: Caller) -> None:
    path = "/apis/apiregistration.k8s.io/v1/apiservices"
    here, there = by_name(embedded.call("GET", path).json), by_name(real_server.call("GET", path))

    # The embedded server has more: those of versions that feature gates turn off.
    assert {name: here[name] for name in there} == there
