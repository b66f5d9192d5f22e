"""Limit ranges: defaults of containers, and bounds of containers, pods and claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.bounds import await_limit_ranges, claim, container, limit_range, pod_of
from tests.conformance.case import area
from tests.conformance.objects import deployment, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Limit ranges")


@case("containers get default limits and requests, which an annotation lists")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "0.5"}})
    api.create("pods", pod("a"))
    api.create("pods", pod_of("b", container(limits={"cpu": "2"}), container("other", requests={"memory": "1Mi"})))


@case("a container with all resources gets none, and no annotation")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "0.5"}})
    api.create("pods", pod_of("a", container(requests={"cpu": "100m"}, limits={"cpu": "200m"})))


@case("init containers and sidecars get the defaults too")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "default": {"memory": "64Mi"}, "defaultRequest": {"memory": "32Mi"}})
    init = [container("first"), container("sidecar", restartPolicy="Always", limits={"memory": "1Gi"})]
    api.create("pods", pod_of("a", container(), init=init))


@case("the annotation of a client is replaced")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "default": {"cpu": "1"}})
    api.create("pods", pod("a", annotations={"kubernetes.io/limit-ranger": "mine", "other": "kept"}))


@case("a maximum is the default of limits, and a minimum that of requests")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}})
    api.create("pods", pod("a"))


@case("containers below the minimum")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "min": {"cpu": "100m"}, "defaultRequest": {"cpu": "50m"}})
    limit_range(api, {"type": "Container", "min": {"cpu": "100m"}})
    api.create("pods", pod_of("low", container(requests={"cpu": "50m"})))
    api.create("pods", pod_of("both", container(requests={"cpu": "50m"}, limits={"cpu": "60m"})))
    api.create("pods", pod_of("equal", container(requests={"cpu": "0.1"})))
    api.create("pods", pod_of("fine", container(requests={"cpu": "1"}, limits={"cpu": "2"})))


@case("containers above the maximum")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "max": {"memory": "1Gi"}})
    api.create("pods", pod_of("limit", container(limits={"memory": "2Gi"})))
    api.create("pods", pod_of("request", container(requests={"memory": "2Gi"})))
    api.create("pods", pod_of("equal", container(limits={"memory": "1024Mi"})))
    api.create("pods", pod_of("init", container(), init=[container("init", limits={"memory": "1.5Gi"})]))
    api.create("pods", pod_of("two", container(limits={"memory": "2Gi"}), container("b", limits={"memory": "3Gi"})))
    api.create("pods", pod_of("same", container(limits={"memory": "2Gi"}), container("b", limits={"memory": "2Gi"})))


@case("the ratio of limits to requests")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}})
    api.create("pods", pod("none"))
    api.create("pods", pod_of("request", container(requests={"cpu": "1"})))
    api.create("pods", pod_of("zero", container(requests={"cpu": "0"}, limits={"cpu": "1"})))
    api.create("pods", pod_of("high", container(requests={"cpu": "300m"}, limits={"cpu": "1"})))
    api.create("pods", pod_of("equal", container(requests={"cpu": "500m"}, limits={"cpu": "1"})))


@case("a ratio with a fraction")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "maxLimitRequestRatio": {"memory": "1.5"}})
    api.create("pods", pod_of("high", container(requests={"memory": "100Mi"}, limits={"memory": "151Mi"})))
    api.create("pods", pod_of("equal", container(requests={"memory": "100Mi"}, limits={"memory": "150Mi"})))


@case("minimum, maximum and ratio of one range together")
def _(api: Api) -> None:
    limit = {"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}}
    limit_range(api, limit)
    limit_range(api, {**limit, "maxLimitRequestRatio": {"cpu": "1.5"}})
    api.create("pods", pod_of("a", container(requests={"cpu": "500m"}, limits={"cpu": "4"})))
    api.create("pods", pod_of("b", container(requests={"cpu": "3"}, limits={"cpu": "4"}), init=[container("i")]))


@case("bounds of a whole pod")
def _(api: Api) -> None:
    limit_range(api, {"type": "Pod", "min": {"cpu": "1"}, "max": {"cpu": "2"}})
    half: dict[str, Any] = {"requests": {"cpu": "0.5"}, "limits": {"cpu": "0.5"}}
    api.create("pods", pod("none"))
    api.create("pods", pod_of("low", container(**half)))
    api.create("pods", pod_of("fine", container(**half), container("b", **half)))
    many = [container(f"c{number}", **half) for number in range(5)]
    api.create("pods", pod_of("high", *many))


@case("bounds of a whole pod with init containers and sidecars")
def _(api: Api) -> None:
    limit_range(api, {"type": "Pod", "max": {"cpu": "2"}})
    one: dict[str, Any] = {"limits": {"cpu": "1"}}
    side = container("side", restartPolicy="Always", limits={"cpu": "1"})
    api.create("pods", pod_of("init", container(**one), init=[container("init", limits={"cpu": "3"})]))
    api.create("pods", pod_of("sidecar", container(**one), init=[side, container("init", limits={"cpu": "1.5"})]))
    api.create("pods", pod_of("fine", container(**one), init=[side, container("init", **one)]))
    api.create("pods", pod_of("unlimited", container(), init=[container("init")]))


@case("resources of the pod itself take the place of its containers'")
def _(api: Api) -> None:
    limit_range(api, {"type": "Pod", "max": {"cpu": "2"}})
    own = {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}}
    api.create("pods", pod_of("high", container(), resources=own))
    api.create("pods", pod_of("fine", container(), resources={"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}))


@case("ephemeral storage and extended resources")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "max": {"ephemeral-storage": "1Gi"}, "default": {"example.com/dongle": "1"}})
    api.create("pods", pod("a"))
    api.create("pods", pod_of("b", container(limits={"ephemeral-storage": "2Gi", "example.com/dongle": "2"})))


@case("huge pages that a pod has to limit")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "max": {"hugepages-2Mi": "4Mi"}})
    high = {"hugepages-2Mi": "6Mi", "memory": "1Gi", "cpu": "1"}
    api.create("pods", pod_of("high", container(limits=high, requests=high)))


@case("claims within and outside of a range")
def _(api: Api) -> None:
    limit_range(api, {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}})
    for name, storage in (("low", "500Mi"), ("least", "1Gi"), ("most", "5Gi"), ("high", "6Gi"), ("odd", "5.5Gi")):
        api.create("persistentvolumeclaims", claim(name, storage))


@case("a claim that is updated is checked again")
def _(api: Api) -> None:
    api.create("persistentvolumeclaims", claim("a", "10Gi"))
    limit_range(api, {"type": "PersistentVolumeClaim", "max": {"storage": "5Gi"}})
    api.patch("persistentvolumeclaims", "a", {"metadata": {"labels": {"x": "y"}}})
    api.patch("persistentvolumeclaims", "a/status", {"status": {"phase": "Lost"}})
    api.delete("persistentvolumeclaims", "a")
    api.patch("persistentvolumeclaims", "a", {"metadata": {"labels": {"x": "z"}}})


@case("a pod that is updated is not checked again")
def _(api: Api) -> None:
    api.create("pods", pod_of("a", container(limits={"cpu": "4"})))
    limit_range(api, {"type": "Container", "max": {"cpu": "2"}, "default": {"memory": "1Gi"}})
    api.patch("pods", "a", {"metadata": {"labels": {"x": "y"}}})
    api.patch("pods", "a/status", {"status": {"phase": "Running"}})


@case("a resize is checked")
def _(api: Api) -> None:
    api.create("pods", pod_of("a", container(requests={"cpu": "1"}, limits={"cpu": "1"})))
    limit_range(api, {"type": "Container", "max": {"cpu": "2"}})
    wanted = {
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}}}]}
    }
    api.patch("pods", "a/resize", wanted, by="strategic")
    wanted["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    api.patch("pods", "a/resize", wanted, by="strategic")


@case("a dry run gets the defaults and the refusals")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "max": {"cpu": "2"}})
    api.create("pods", pod("a"), dryRun="All")
    api.create("pods", pod_of("a", container(limits={"cpu": "3"})), dryRun="All")


@case("a generated name in a refusal, and no name")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "max": {"cpu": "2"}})
    high = pod_of("", container(limits={"cpu": "3"}))
    api.create("pods", {**high, "metadata": {"generateName": "a-"}})
    api.create("pods", {**high, "metadata": {}})


@case("templates of workloads are not checked")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "max": {"cpu": "2"}, "default": {"memory": "1Gi"}})
    api.create("deployments", deployment("a"))


@case("applied pods get defaults that their manager does not own")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "default": {"cpu": "1"}})
    api.apply("pods", "a", pod("a"))
    api.apply("pods", "a", pod("a"))


@case("a second range bounds what the first has set")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "default": {"cpu": "3"}})
    limit_range(api, {"type": "Pod", "max": {"cpu": "2"}}, name="m")
    api.create("pods", pod("a"))


@case("a range without bounds, and one of another type")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container"}, {"type": "example.com/Thing", "max": {"cpu": "1"}})
    api.create("pods", pod("a"))
    api.create("persistentvolumeclaims", claim("a"))


@case("a range that is changed and deleted")
def _(api: Api) -> None:
    limit_range(api, {"type": "Container", "max": {"cpu": "2"}})
    limit_range(api, {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}, name="other")
    api.patch("limitranges", "l", {"spec": {"limits": [{"type": "Container", "max": {"cpu": "3"}}]}})
    await_limit_ranges(api)
    api.create("pods", pod_of("a", container(limits={"cpu": "2500m"})))
    api.create("pods", pod_of("b", container(limits={"cpu": "4"})))
    api.delete("limitranges", "l")
    await_limit_ranges(api)
    api.create("pods", pod_of("b", container(limits={"cpu": "4"})))


@case("resources of a pod that its containers do not fit into")
def _(api: Api) -> None:
    some = {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}}
    api.create("pods", pod_of("sum", container(requests={"cpu": "2"}), resources=some))
    api.create("pods", pod_of("limit", container(requests={"cpu": "1"}, limits={"cpu": "4"}), resources=some))
    api.create("pods", pod_of("name", container(), resources={"requests": {"ephemeral-storage": "1Gi"}}))
    api.create("pods", pod_of("claims", container(), resources={**some, "claims": [{"name": "a"}]}))
    api.create("pods", pod_of("windows", container(), resources=some, os={"name": "windows"}))


@case("a resize that changes more than cpu and memory, or the class of the pod")
def _(api: Api) -> None:
    some = {"cpu": "1", "memory": "1Gi"}
    init = [container("init", requests=some)]
    api.create("pods", pod_of("a", container(requests={**some, "ephemeral-storage": "1Gi"}), init=init))

    def resize(*containers: Plain, kind: str = "containers") -> None:
        api.patch("pods", "a/resize", {"spec": {kind: list(containers)}}, by="strategic")

    resize(container(requests={"cpu": "2"}, limits={"cpu": "1"}))
    resize(container(requests={"ephemeral-storage": "2Gi"}))
    resize(container(requests={"example.com/dongle": "1"}, limits={"example.com/dongle": "1"}))
    resize({"name": "main", "resources": {"requests": {"cpu": None}}})
    resize(container("other", requests={"cpu": "2"}))
    resize(container("init", requests={"cpu": "2"}), kind="initContainers")
    resize({**container(requests=some), "image": "other"})
    resize({"name": "main", "resources": {"requests": {"cpu": "0", "memory": "0"}}})
    api.patch("pods", "a/resize", {"spec": {"resources": {"requests": {"cpu": "3"}}}})
    api.patch("pods", "a/resize", {"spec": {"resources": {"requests": {"cpu": "4"}}}})
    api.patch("pods", "a/resize", {"spec": {"resources": None}})
    api.create("pods", pod("best"))
    api.patch("pods", "best/resize", {"spec": {"containers": [container(requests={"cpu": "2"})]}}, by="strategic")
