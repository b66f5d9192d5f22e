"""The usage in the status of quotas is what the stored objects use, after any sequence of requests."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from tests.server.calls import MERGE_PATCH, Caller

import masthead.server
from masthead import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.server import Server

Plain = dict[str, Any]
PLENTY: Plain = {
    "all": {"pods": "3", "count/pods": "4", "configmaps": "2", "services": "3", "services.nodeports": "2"},
    "sized": {"requests.cpu": "2", "limits.memory": "3Gi", "persistentvolumeclaims": "2", "requests.storage": "3Gi"},
}
SCOPED: Plain = {"short": "Terminating", "long": "NotTerminating", "best": "BestEffort"}
PLURALS = ("pods", "configmaps", "services", "persistentvolumeclaims")
names = st.sampled_from(["a", "b", "c"])
deadlines = st.sampled_from([None, 5])
amounts = st.sampled_from([None, "250m", "1"])


class QuotaMachine(RuleBasedStateMachine):
    """Sends requests in a namespace with quotas, and recomputes their usage from the objects."""

    server: ClassVar[Server]
    caller: ClassVar[Caller]
    numbers: ClassVar[Iterator[int]] = itertools.count()

    @initialize(is_late=st.booleans())
    def begin(self, is_late: bool) -> None:
        self.namespace = f"quota-{next(self.numbers)}"
        self.caller.call("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        # A quota that comes later has to count what is there.
        if not is_late:
            self.create_quotas()

    @rule()
    def create_quotas(self) -> None:
        for name, hard in PLENTY.items():
            self.send("POST", "resourcequotas", {"metadata": {"name": name}, "spec": {"hard": hard}})
        for name, scope in SCOPED.items():
            spec = {"hard": {"pods": "3"}, "scopes": [scope]}
            self.send("POST", "resourcequotas", {"metadata": {"name": name}, "spec": spec})

    @rule(name=names, cpu=amounts, deadline=deadlines, dry=st.booleans())
    def create_pod(self, name: str, cpu: str | None, deadline: int | None, dry: bool) -> None:
        amount = {"cpu": cpu, "memory": "1Gi"} if cpu else {}
        container = {"name": "c", "image": "i", "resources": {"requests": amount, "limits": amount}}
        spec = {"containers": [container], **({"activeDeadlineSeconds": deadline} if deadline else {})}
        self.send("POST", "pods?dryRun=All" if dry else "pods", {"metadata": {"name": name}, "spec": spec})

    @rule(name=names, phase=st.sampled_from(["Running", "Succeeded", "Failed"]))
    def set_phase(self, name: str, phase: str) -> None:
        self.send("PATCH", f"pods/{name}/status", {"status": {"phase": phase}})

    @rule(name=names)
    def set_deadline(self, name: str) -> None:
        self.send("PATCH", f"pods/{name}", {"spec": {"activeDeadlineSeconds": 4}})

    @rule(name=names)
    def create_config_map(self, name: str) -> None:
        self.send("POST", "configmaps", {"metadata": {"name": name}})

    @rule(name=names, kind=st.sampled_from(["ClusterIP", "NodePort"]), is_new=st.booleans())
    def write_service(self, name: str, kind: str, is_new: bool) -> None:
        spec = {"type": kind, "ports": [{"port": 80}]}
        if is_new:
            self.send("POST", "services", {"metadata": {"name": name}, "spec": spec})
        else:
            self.send("PATCH", f"services/{name}", {"spec": spec})

    @rule(name=names, storage=st.sampled_from(["1Gi", "2Gi", "1500m"]))
    def create_claim(self, name: str, storage: str) -> None:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
        self.send("POST", "persistentvolumeclaims", {"metadata": {"name": name}, "spec": spec})

    @rule(plural=st.sampled_from(PLURALS), name=names)
    def delete(self, plural: str, name: str) -> None:
        self.send("DELETE", f"{plural}/{name}?gracePeriodSeconds=0")

    @rule(name=st.sampled_from([*PLENTY, *SCOPED]), pods=st.sampled_from(["1", "3", None]))
    def change_quota(self, name: str, pods: str | None) -> None:
        self.send("PATCH", f"resourcequotas/{name}", {"spec": {"hard": {"pods": pods}}})

    @invariant()
    def usage_is_what_objects_use(self) -> None:
        if not hasattr(self, "namespace"):
            return
        self.server.block_until_idle()
        found = {plural: self.list(plural) for plural in PLURALS}
        for quota in self.list("resourcequotas"):
            status, hard = quota["status"], quota["spec"].get("hard", {})
            expected = measure(found, quota["spec"].get("scopes", []))
            assert status.get("hard", {}) == hard
            used = {limit: Quantity(value) for limit, value in status.get("used", {}).items()}
            assert used == {limit: expected[limit] for limit in hard}, quota["metadata"]["name"]

    def send(self, method: str, path: str, body: object = None) -> None:
        """Send a request, which may be refused."""
        kind = MERGE_PATCH if method == "PATCH" else "application/json"
        response = self.caller.call(method, f"/api/v1/namespaces/{self.namespace}/{path}", body, content_type=kind)
        assert response.code < 500, response.body

    def list(self, plural: str) -> list[Plain]:
        found: list[Plain] = self.caller.call("GET", f"/api/v1/namespaces/{self.namespace}/{plural}").json["items"]
        return found


def measure(found: dict[str, list[Plain]], scopes: list[str]) -> dict[str, Quantity]:
    """Add up what objects use, in the simplest way."""
    pods = [pod for pod in found["pods"] if all(is_in(pod, scope) for scope in scopes)]
    running = [pod for pod in pods if pod["status"]["phase"] not in {"Succeeded", "Failed"}]
    containers = [container["resources"] for pod in running for container in pod["spec"]["containers"]]
    services, claims = found["services"], found["persistentvolumeclaims"]
    storage = [claim["spec"]["resources"]["requests"]["storage"] for claim in claims]
    return {
        "pods": Quantity(len(running)),
        "count/pods": Quantity(len(pods)),
        "requests.cpu": total(item.get("requests", {}).get("cpu", 0) for item in containers),
        "limits.memory": total(item.get("limits", {}).get("memory", 0) for item in containers),
        "configmaps": Quantity(len(found["configmaps"])),
        "services": Quantity(len(services)),
        "services.nodeports": Quantity(sum(service["spec"]["type"] == "NodePort" for service in services)),
        "persistentvolumeclaims": Quantity(len(claims)),
        "requests.storage": total(Quantity(amount).value() for amount in storage),
    }


def total(values: Iterator[Any]) -> Quantity:
    return sum(map(Quantity, values), Quantity(0))


def is_in(pod: Plain, scope: str) -> bool:
    has_deadline = "activeDeadlineSeconds" in pod["spec"]
    if scope == "BestEffort":
        return bool(pod["status"]["qosClass"] == "BestEffort")
    return has_deadline == (scope == "Terminating")


@pytest.mark.slow
def test_usage_follows_random_requests() -> None:
    with masthead.server.run(token=None, bootstrap=False) as server:
        QuotaMachine.server, QuotaMachine.caller = server, Caller(server.url)
        run = settings(max_examples=12, stateful_step_count=25, deadline=None)
        try:
            run_state_machine_as_test(QuotaMachine, settings=run)
        finally:
            QuotaMachine.caller.close()
