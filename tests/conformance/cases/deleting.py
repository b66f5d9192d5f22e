"""DELETE of one object: options, conditions, finalizers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, job, named, pod, service

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Deleting")

SOME_UID = "11111111-2222-3333-4444-555555555555"


@case("delete returns a Status that names the object")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a")
    api.get("configmaps", "a")
    api.create("deployments", deployment("a"))
    api.delete("deployments", "a")


@case("delete of some kinds returns the deleted object")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    api.delete("pods", "a", gracePeriodSeconds=0)
    api.create("services", service("a"))
    api.delete("services", "a")
    api.create("serviceaccounts", named("v1", "ServiceAccount", "a"))
    api.delete("serviceaccounts", "a")
    api.create("limitranges", named("v1", "LimitRange", "a", spec={"limits": []}))
    api.delete("limitranges", "a")
    api.create("resourcequotas", named("v1", "ResourceQuota", "a"))
    api.delete("resourcequotas", "a")
    api.create("podtemplates", named("v1", "PodTemplate", "a"))


@case("delete of what is not there is refused")
def _(api: Api) -> None:
    api.delete("configmaps", "a")
    api.delete("deployments", "a")
    api.delete("namespaces", f"{api.namespace}-none")


@case("a finalizer keeps the object until it is removed")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/one", "example.com/two"]))
    api.delete("configmaps", "a")
    api.get("configmaps", "a")
    api.patch("configmaps", "a", {"metadata": {"finalizers": ["example.com/two"]}})
    api.patch("configmaps", "a", {"metadata": {"finalizers": None}})
    api.get("configmaps", "a")


@case("a second delete of an object that goes changes nothing")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/one"]))
    api.delete("configmaps", "a")
    api.delete("configmaps", "a")


@case("an update that removes the last finalizer returns the object")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/one"]))
    going = api.delete("configmaps", "a")
    body = {**going.body, "metadata": {**going.metadata, "finalizers": []}}
    api.update("configmaps", "a", body)
    api.get("configmaps", "a")


@case("an object that goes may still be changed")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/one"]))
    api.delete("configmaps", "a")
    api.update("configmaps", "a", config_map("a", finalizers=["example.com/one"], data={"k": "v"}))
    api.create("configmaps", config_map("a"))


@case("deletion bumps the generation of kinds that have one")
def _(api: Api) -> None:
    api.create("deployments", deployment("a", finalizers=["example.com/one"]))
    api.delete("deployments", "a")
    api.delete("deployments", "a")
    api.create("jobs", job("a", finalizers=["example.com/one"]))
    api.delete("jobs", "a")


@case("a uid is a condition")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", {"preconditions": {"uid": SOME_UID}})
    api.delete("configmaps", "a", {"preconditions": {"uid": made.uid}})


@case("a version is a condition")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.update("configmaps", "a", config_map("a", data={"k": "v"}))
    api.delete("configmaps", "a", {"preconditions": {"resourceVersion": made.version}})
    newest = api.get("configmaps", "a")
    api.delete("configmaps", "a", {"preconditions": {"resourceVersion": newest.version, "uid": made.uid}})


@case("conditions hold for objects with finalizers too")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/one"]))
    api.delete("configmaps", "a", {"preconditions": {"uid": SOME_UID}})
    api.delete("configmaps", "a", {"preconditions": {"resourceVersion": "1"}})


@case("conditions on a pod that goes gracefully")
def _(api: Api) -> None:
    api.create("pods", pod("a", spec={"nodeName": "node"}))
    api.delete("pods", "a", {"preconditions": {"uid": SOME_UID}})
    api.delete("pods", "a", {"preconditions": {"resourceVersion": "1"}})


@case("options may stand in the query")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.delete("deployments", "a", propagationPolicy="Foreground")
    api.get("deployments", "a")


@case("options of the body go before those of the query")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    api.delete("deployments", "a", {"propagationPolicy": "Foreground"}, propagationPolicy="Orphan")


@case("foreground deletion leaves a finalizer")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", {"propagationPolicy": "Foreground"})
    api.get("configmaps", "a")
    api.patch("configmaps", "a", {"metadata": {"finalizers": None}})


@case("orphaning leaves a finalizer")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", {"propagationPolicy": "Orphan"})
    api.get("configmaps", "a")


@case("background deletion is immediate")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", {"propagationPolicy": "Background"})
    api.get("configmaps", "a")


@case("orphanDependents is the old word for it")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", {"orphanDependents": True})
    api.create("configmaps", config_map("b"))
    api.delete("configmaps", "b", {"orphanDependents": False})
    api.create("configmaps", config_map("c"))
    api.delete("configmaps", "c", orphanDependents="true")


@case("both words for propagation at once are refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", {"orphanDependents": True, "propagationPolicy": "Orphan"})


@case("a policy that is not known is refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", {"propagationPolicy": "Nonsense"})
    api.delete("configmaps", "a", propagationPolicy="Nonsense")
    api.delete("configmaps", "a", {"propagationPolicy": ""})


@case("another policy changes the finalizers of an object that goes")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["example.com/one"]))
    api.delete("configmaps", "a", {"propagationPolicy": "Foreground"})
    api.delete("configmaps", "a", {"propagationPolicy": "Orphan"})
    api.delete("configmaps", "a", {"propagationPolicy": "Background"})
    api.delete("configmaps", "a")


@case("finalizers of deletion that are there already are obeyed")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", finalizers=["orphan"]))
    api.delete("configmaps", "a")
    api.create("configmaps", config_map("b", finalizers=["foregroundDeletion"]))
    api.delete("configmaps", "b")
    api.create("configmaps", config_map("c", finalizers=["orphan", "foregroundDeletion"]))


@case("a pod that is on no node goes at once")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    api.delete("pods", "a")
    api.get("pods", "a")


@case("a pod on a node gets its grace period")
def _(api: Api) -> None:
    api.create("pods", pod("a", spec={"nodeName": "node", "terminationGracePeriodSeconds": 12}))
    api.delete("pods", "a")
    api.get("pods", "a")
    api.delete("pods", "a")


@case("a pod's time may be set, shortened, and not prolonged")
def _(api: Api) -> None:
    api.create("pods", pod("a", spec={"nodeName": "node"}))
    api.delete("pods", "a", {"gracePeriodSeconds": 20})
    api.delete("pods", "a", {"gracePeriodSeconds": 40})
    api.delete("pods", "a", {"gracePeriodSeconds": 10})
    api.delete("pods", "a", {"gracePeriodSeconds": 0})
    api.get("pods", "a")


@case("a pod that goes at once by force")
def _(api: Api) -> None:
    api.create("pods", pod("a", spec={"nodeName": "node"}))
    api.delete("pods", "a", {"gracePeriodSeconds": 0})
    api.get("pods", "a")


@case("a pod with a finalizer stays after its time")
def _(api: Api) -> None:
    api.create("pods", pod("a", spec={"nodeName": "node"}, finalizers=["example.com/one"]))
    api.delete("pods", "a", {"gracePeriodSeconds": 0})
    api.get("pods", "a")


@case("a finished pod goes at once")
def _(api: Api) -> None:
    made = api.create("pods", pod("a", spec={"nodeName": "node"}))
    api.update("pods", "a/status", {**made.body, "status": {"phase": "Succeeded"}})
    api.delete("pods", "a")


@case("a time that is not a pod's means nothing")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", {"gracePeriodSeconds": 30})
    api.create("configmaps", config_map("b", finalizers=["example.com/one"]))
    api.delete("configmaps", "b", {"gracePeriodSeconds": 30})


@case("a negative time is one second")
def _(api: Api) -> None:
    api.create("pods", pod("a", spec={"nodeName": "node"}))
    api.delete("pods", "a", {"gracePeriodSeconds": -5})
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", {"gracePeriodSeconds": -5})


@case("options that are no DeleteOptions are refused")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", {"kind": "Pod", "apiVersion": "v1"})
    api.delete("configmaps", "a", "no JSON")
    api.delete("configmaps", "a", [])
    api.delete("configmaps", "a", {"gracePeriodSeconds": "ten"})
    api.delete("configmaps", "a", gracePeriodSeconds="ten")
    api.delete("configmaps", "a", {"kind": "DeleteOptions", "apiVersion": "apps/v1"})


@case("options may name any of the kind's versions")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", {"kind": "DeleteOptions", "apiVersion": "v1"})
    api.create("configmaps", config_map("b"))
    api.delete("configmaps", "b", {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"})
    api.create("deployments", deployment("a"))
    api.delete("deployments", "a", {"kind": "DeleteOptions", "apiVersion": "apps/v1"})


@case("unknown fields of options are ignored")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", {"nonsense": True})


@case("a DELETE with an empty object as its body")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", {})


@case("deleted owners leave their dependents without a garbage collector")
def _(api: Api) -> None:
    owner = api.create("configmaps", config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid}
    api.create("configmaps", config_map("a", ownerReferences=[reference]))
    api.delete("configmaps", "owner", {"propagationPolicy": "Background"})
    api.get("configmaps", "a")


@case("jobs are orphaned by default in v1")
def _(api: Api) -> None:
    api.create("jobs", job("a"))
    api.delete("jobs", "a")
    api.get("jobs", "a")


@case("ignoring read errors of the store is nothing special for an object that can be read")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a", {"ignoreStoreReadErrorWithClusterBreakingPotential": True})
