"""Admission policies of the embedded server: their status, restarts, and requests meanwhile."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import MAPS, MERGE_PATCH, Caller, config_map

import masthead.server

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.quiet_cluster import QuietCluster

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{GROUP}/validatingadmissionpolicies"
BINDINGS = f"{GROUP}/validatingadmissionpolicybindings"


def policy(*expressions: str, resource: str = "configmaps", **spec: Any) -> Any:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": [resource]}
    validations = [{"expression": expression} for expression in expressions]
    return {
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": validations, **spec},
    }


def binding(**spec: Any) -> Any:
    return {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"], **spec}}


def test_the_status_shows_expressions_that_do_not_fit(cluster: QuietCluster) -> None:
    cluster.call("POST", POLICIES, policy("object.data.a == 1"))

    status = cluster.call("GET", f"{POLICIES}/p")["status"]

    warning = (
        "/v1, Kind=ConfigMap: ERROR: <input>:1:15: found no matching overload for '_==_' applied to '(string, int)'\n"
        " | object.data.a == 1\n | ..............^\n"
    )
    shown = [{"fieldRef": "spec.validations[0].expression", "warning": warning}]
    assert status == {"observedGeneration": 1, "typeChecking": {"expressionWarnings": shown}}


def test_a_changed_policy_is_checked_again(cluster: QuietCluster) -> None:
    cluster.call("POST", POLICIES, policy("object.data.a == 1"))
    changed = {"spec": {"validations": [{"expression": "object.data.a == 'x'"}]}}
    cluster.call("PATCH", f"{POLICIES}/p", changed, content_type=MERGE_PATCH)

    found = cluster.call("GET", f"{POLICIES}/p")

    assert found["status"] == {"observedGeneration": 2, "typeChecking": {}}
    managers = [(entry["manager"], entry["operation"]) for entry in found["metadata"]["managedFields"]]
    assert ("validatingadmissionpolicy-status", "Apply") in managers


@pytest.mark.slow
def test_policies_are_in_effect_at_once_and_after_a_restart(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with masthead.server.run(token=None, data=data) as server:
        caller = Caller(server.url)
        assert caller.call("POST", POLICIES, policy("false")).code == 201
        assert caller.call("POST", MAPS, config_map("a")).code == 201
        assert caller.call("POST", BINDINGS, binding()).code == 201
        assert caller.call("POST", MAPS, config_map("b")).code == 422
        caller.close()
    with masthead.server.run(token=None, data=data) as server:
        caller = Caller(server.url)
        assert caller.call("POST", MAPS, config_map("b")).code == 422
        assert caller.call("DELETE", f"{POLICIES}/p").code == 200
        assert caller.call("POST", MAPS, config_map("b")).code == 201
        caller.close()


def test_a_plugin_can_be_switched_off() -> None:
    with masthead.server.run(token=None, admission={"ValidatingAdmissionPolicy": False}) as server:
        caller = Caller(server.url)
        caller.call("POST", POLICIES, policy("false"))
        caller.call("POST", BINDINGS, binding())
        assert caller.call("POST", MAPS, config_map("a")).code == 201
        caller.close()


def test_the_authorizer_answers_in_costly_policies_too(cluster: QuietCluster) -> None:
    loop = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
    costly = f"{loop}.all(a, {loop}.all(b, {loop}.all(c, {loop}.all(d, a * b * c * d > 0))))"
    check = "authorizer.requestResource.check('create').allowed()"
    cluster.call("POST", POLICIES, policy(costly, check, f"{check} && object.metadata.name == 'a'"))
    cluster.call("POST", BINDINGS, binding())

    assert cluster.caller.call("POST", MAPS, config_map("a")).code == 201
    assert cluster.caller.call("POST", MAPS, config_map("b")).code == 422


@pytest.mark.slow
def test_other_requests_are_served_during_a_costly_policy(cluster: QuietCluster) -> None:
    loop = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
    costly = f"{loop}.all(a, {loop}.all(b, {loop}.all(c, {loop}.all(d, a * b * c * d > 0))))"
    cluster.call("POST", POLICIES, policy(*(f"{costly} || {number} == 0" for number in range(10))))
    cluster.call("POST", BINDINGS, binding())
    codes: list[int] = []

    def create() -> None:
        caller = Caller(cluster.server.url)
        codes.append(caller.call("POST", MAPS, config_map("a")).code)
        caller.close()

    writer = threading.Thread(target=create)
    writer.start()
    reads = 0
    while writer.is_alive():
        assert cluster.caller.call("GET", "/version").code == 200
        reads += 1
    writer.join()

    assert codes == [201]
    # The policy costs about 4,000,000: on the event loop, nothing else would have been served.
    assert reads > 5
