"""Watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Watching")


@case("from a version on, each change is an event")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    api.update("configmaps", "a", config_map("a", data={"k": "v"}))
    api.delete("configmaps", "b")
    api.watch("configmaps", events=3, resourceVersion=made.version)


@case("from a list's version on, live")
def _(api: Api) -> None:
    api.create("configmaps", config_map("before"))
    seen = api.list("configmaps")
    with api.watching("configmaps", resourceVersion=seen.version) as stream:
        api.create("configmaps", config_map("a"))
        stream.read(1)
        api.patch("configmaps", "a", {"data": {"k": "v"}})
        api.delete("configmaps", "a")
        stream.read(2)


@case("without a version, what is there comes first")
def _(api: Api) -> None:
    api.create("configmaps", config_map("b"))
    api.create("configmaps", config_map("a"))
    with api.watching("configmaps") as stream:
        stream.read(2)
        api.create("configmaps", config_map("c"))
        stream.read(1)


@case("from 0, what is there comes first")
def _(api: Api) -> None:
    api.create("configmaps", config_map("b"))
    api.create("configmaps", config_map("a"))
    with api.watching("configmaps", resourceVersion="0") as stream:
        stream.read(2)
        api.delete("configmaps", "a")
        stream.read(1)


@case("a watch ends after its time, without a word")
def _(api: Api) -> None:
    seen = api.list("configmaps")
    api.watch("configmaps", resourceVersion=seen.version, timeoutSeconds=1)


@case("a time of 0 is the server's own choice")
def _(api: Api) -> None:
    seen = api.list("configmaps")
    with api.watching("configmaps", resourceVersion=seen.version, timeoutSeconds=0) as stream:
        api.create("configmaps", config_map("a"))
        stream.read(1)


@case("every value of watch but false and 0 means yes")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    for yes in ("1", "true", "True", "yes", "anything", ""):
        with api.stream(api.path("configmaps"), query={"watch": yes, "resourceVersion": made.version}) as stream:
            stream.read(1)


@case("watch=false and watch=0 are lists")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.list("configmaps", watch="false")
    api.list("configmaps", watch="0")


@case("an object that comes to match a selector is added, one that leaves is deleted")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    with api.watching("configmaps", resourceVersion=made.version, labelSelector="l=1") as stream:
        api.patch("configmaps", "a", {"metadata": {"labels": {"l": "1"}}})
        api.patch("configmaps", "a", {"data": {"k": "v"}})
        api.patch("configmaps", "a", {"metadata": {"labels": {"l": "2"}}})
        api.patch("configmaps", "a", {"data": {"k": "unseen"}})
        api.patch("configmaps", "a", {"metadata": {"labels": {"l": "1"}}})
        api.delete("configmaps", "a")
        stream.read(5)


@case("the same from the past")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.patch("configmaps", "a", {"metadata": {"labels": {"l": "1"}}})
    api.patch("configmaps", "a", {"metadata": {"labels": {"l": "2"}}})
    api.patch("configmaps", "a", {"metadata": {"labels": {"l": "1"}}})
    api.watch("configmaps", events=3, resourceVersion=made.version, labelSelector="l=1")


@case("a field selector that changes its mind")
def _(api: Api) -> None:
    made = api.create("pods", pod("a"))
    with api.watching("pods", resourceVersion=made.version, fieldSelector="status.phase=Pending") as stream:
        api.patch("pods", "a/status", {"status": {"phase": "Running"}})
        api.patch("pods", "a/status", {"status": {"phase": "Pending"}})
        stream.read(2)


@case("one object is watched through its name")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    with api.watching("configmaps", resourceVersion=made.version, fieldSelector="metadata.name=b") as stream:
        api.update("configmaps", "a", config_map("a", data={"k": "v"}))
        api.update("configmaps", "b", config_map("b", data={"k": "v"}))
        stream.read(2)


@case("watch on the path of an object is a get")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.get("configmaps", "a", watch="true")


@case("a delete that waits for finalizers is a change, then a delete")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a", finalizers=["example.com/one"]))
    api.delete("configmaps", "a")
    api.patch("configmaps", "a", {"metadata": {"finalizers": None}})
    api.watch("configmaps", events=2, resourceVersion=made.version)


@case("a pod that goes by force is a change and a delete")
def _(api: Api) -> None:
    made = api.create("pods", pod("a"))
    api.delete("pods", "a", gracePeriodSeconds=0)
    api.watch("pods", events=2, resourceVersion=made.version)


@case("writes that change nothing and dry runs are no events")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a", data={"k": "v"}))
    api.update("configmaps", "a", config_map("a", data={"k": "v"}))
    api.update("configmaps", "a", config_map("a"), dryRun="All")
    api.create("configmaps", config_map("c"), dryRun="All")
    api.create("configmaps", config_map("b"))
    api.watch("configmaps", events=1, resourceVersion=made.version)


@case("a collection that is deleted is one event for each object")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    made = api.create("configmaps", config_map("b"))
    api.delete_all("configmaps")
    api.watch("configmaps", events=2, resourceVersion=made.version)


@case("a version that is forgotten is an event of an error")
def _(api: Api) -> None:
    api.compact()
    api.watch("configmaps", resourceVersion="1", timeoutSeconds=5)


@case("a version that is forgotten, with a selector and bookmarks")
def _(api: Api) -> None:
    api.compact()
    api.watch("configmaps", resourceVersion="1", labelSelector="a=b", allowWatchBookmarks=True, timeoutSeconds=5)


@case("an invalid resourceVersion is refused")
def _(api: Api) -> None:
    api.watch("configmaps", resourceVersion="abc", timeoutSeconds=1)
    api.watch("configmaps", resourceVersion="-1", timeoutSeconds=1)


@case("a version that is not there yet is waited for")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.watch("configmaps", resourceVersion="999999999999", timeoutSeconds=1)


@case("an invalid timeoutSeconds is refused")
def _(api: Api) -> None:
    api.watch("configmaps", resourceVersion="0", timeoutSeconds="x")


@case("a match is not for watches")
def _(api: Api) -> None:
    api.watch("configmaps", resourceVersion="5", resourceVersionMatch="Exact", timeoutSeconds=1)
    api.watch("configmaps", resourceVersion="5", resourceVersionMatch="NotOlderThan", timeoutSeconds=1)
    api.watch("configmaps", resourceVersionMatch="NotOlderThan", timeoutSeconds=1)
    api.watch("configmaps", resourceVersionMatch="Nonsense", timeoutSeconds=1)


@case("a token means nothing to a watch")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    api.watch("configmaps", events=1, resourceVersion=made.version, continue_="nonsense")


@case("bookmarks may be allowed")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    api.watch("configmaps", events=1, resourceVersion=made.version, allowWatchBookmarks=True)
    api.watch("configmaps", events=1, resourceVersion=made.version, allowWatchBookmarks="nonsense")


@case("a watch across namespaces")
def _(api: Api) -> None:
    selector = f"in={api.namespace}"
    made = api.create("configmaps", config_map("a", labels={"in": api.namespace}))
    api.create("configmaps", config_map("b", labels={"in": api.namespace}))
    api.watch("configmaps", events=1, everywhere=True, resourceVersion=made.version, labelSelector=selector)


@case("a watch in a namespace that is not there waits")
def _(api: Api) -> None:
    with api.stream(
        f"/api/v1/namespaces/{api.namespace}-none/configmaps", query={"watch": "true", "timeoutSeconds": 1}
    ) as stream:
        stream.read_to_the_end()


@case("the old path of a watch on a collection")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    path = f"/api/v1/watch/namespaces/{api.namespace}/configmaps"
    with api.stream(path, query={"resourceVersion": made.version}) as stream:
        stream.read(1)


@case("the old path of a watch on one object")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    made = api.create("configmaps", config_map("b"))
    api.update("configmaps", "b", config_map("b", data={"k": "v"}))
    api.update("configmaps", "a", config_map("a", data={"k": "v"}))
    path = f"/api/v1/watch/namespaces/{api.namespace}/configmaps/a"
    with api.stream(path, query={"resourceVersion": made.version}) as stream:
        stream.read(1)


@case("the old path of a watch on a kind of a group")
def _(api: Api) -> None:
    made = api.create("deployments", deployment("a"))
    api.update("deployments", "a", deployment("a", replicas=2))
    path = f"/apis/apps/v1/watch/namespaces/{api.namespace}/deployments"
    with api.stream(path, query={"resourceVersion": made.version}) as stream:
        stream.read(1)


@case("the old path of a watch on nothing")
def _(api: Api) -> None:
    api.request("GET", f"/api/v1/watch/namespaces/{api.namespace}/nonsense")
    api.request("GET", "/api/v1/watch")


@case("a watch on a resource that is not there")
def _(api: Api) -> None:
    api.request("GET", f"/api/v1/namespaces/{api.namespace}/nonsense", query={"watch": "true"})
    api.request("GET", f"/apis/nonsense/v1/namespaces/{api.namespace}/pods", query={"watch": "true"})


@case("a kind in another of its versions")
def _(api: Api) -> None:
    target = {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}
    made = api.create("configmaps", config_map("a"))
    body = named("autoscaling/v2", "HorizontalPodAutoscaler", "a", spec={"scaleTargetRef": target, "maxReplicas": 3})
    api.create("horizontalpodautoscalers", body)
    api.watch("autoscaling/v1/horizontalpodautoscalers", events=1, resourceVersion=made.version)


@case("watches of a kind begin at the versions of another")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("secrets", named("v1", "Secret", "a"))
    api.watch("secrets", events=1, resourceVersion=made.version)


@case("a delete event has the version of the delete")
def _(api: Api) -> None:
    first = api.create("configmaps", config_map("a"))
    api.delete("configmaps", "a")
    api.create("configmaps", config_map("b"))
    api.watch("configmaps", events=2, resourceVersion=first.version)


@case("HEAD is not allowed, and POST takes no notice of watch")
def _(api: Api) -> None:
    api.request("HEAD", api.path("configmaps"))
    api.request("POST", api.path("configmaps"), config_map("a"), query={"watch": "true"})
