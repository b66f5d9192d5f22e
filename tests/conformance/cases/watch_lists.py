"""Watches that begin with initial events, and mark their end with a bookmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.objects import config_map

if TYPE_CHECKING:
    from tests.conformance.api import Api, Query

case = area("Watch lists")

WANTED: dict[str, Any] = {"sendInitialEvents": True, "resourceVersionMatch": "NotOlderThan"}


@case("what is there, a bookmark that ends it, and what comes then")
def _(api: Api) -> None:
    api.create("configmaps", config_map("b"))
    api.create("configmaps", config_map("a"))
    with api.watching("configmaps", allowWatchBookmarks=True, **WANTED) as stream:
        stream.read(3)
        api.create("configmaps", config_map("c"))
        stream.read(1)


@case("nothing is there")
def _(api: Api) -> None:
    api.watch("configmaps", events=1, allowWatchBookmarks=True, **WANTED)


@case("from version 0")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.watch("configmaps", events=2, allowWatchBookmarks=True, resourceVersion="0", **WANTED)


@case("from a version that is past")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    api.watch("configmaps", events=3, allowWatchBookmarks=True, resourceVersion=made.version, **WANTED)


@case("with a selector")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", labels={"l": "1"}))
    api.create("configmaps", config_map("b"))
    api.watch("configmaps", events=2, allowWatchBookmarks=True, labelSelector="l=1", **WANTED)
    api.watch("configmaps", events=2, allowWatchBookmarks=True, fieldSelector="metadata.name=b", **WANTED)


@case("without bookmarks")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.watch("configmaps", events=1, **WANTED)


@case("initial events without a match are refused")
def _(api: Api) -> None:
    api.watch("configmaps", sendInitialEvents=True, timeoutSeconds=1)
    api.watch("configmaps", sendInitialEvents=False, timeoutSeconds=1)
    api.watch("configmaps", sendInitialEvents=True, allowWatchBookmarks=True, timeoutSeconds=1)


@case("initial events with another match are refused")
def _(api: Api) -> None:
    api.watch("configmaps", sendInitialEvents=True, resourceVersionMatch="Exact", timeoutSeconds=1)
    api.watch("configmaps", sendInitialEvents=True, resourceVersionMatch="Nonsense", timeoutSeconds=1)
    api.watch(
        "configmaps",
        sendInitialEvents=True,
        resourceVersionMatch="Exact",
        resourceVersion="5",
        timeoutSeconds=1,
    )


@case("a match without initial events is refused")
def _(api: Api) -> None:
    api.watch("configmaps", resourceVersionMatch="NotOlderThan", resourceVersion="5", timeoutSeconds=1)


@case("an invalid resourceVersion is refused")
def _(api: Api) -> None:
    api.watch("configmaps", resourceVersion="abc", timeoutSeconds=1, **WANTED)


@case("a version that is not there yet is an event of an error")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.watch("configmaps", allowWatchBookmarks=True, resourceVersion="999999999999", **WANTED)


@case("a word that is no boolean")
def _(api: Api) -> None:
    api.watch("configmaps", sendInitialEvents="nonsense", resourceVersionMatch="NotOlderThan", timeoutSeconds=1)


@case("no initial events are wanted")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    api.watch(
        "configmaps",
        events=1,
        sendInitialEvents=False,
        resourceVersionMatch="NotOlderThan",
        resourceVersion=made.version,
    )


@case("no initial events are wanted, from 0")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    with api.watching(
        "configmaps", sendInitialEvents=False, resourceVersionMatch="NotOlderThan", resourceVersion="0"
    ) as stream:
        api.create("configmaps", config_map("b"))
        stream.read(1)


@case("as metadata alone")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "v"}))
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    query: dict[str, Query] = {"watch": True, "allowWatchBookmarks": True, **WANTED}
    with api.stream(api.path("configmaps"), query=query, headers={"Accept": accept}) as stream:
        stream.read(2)
