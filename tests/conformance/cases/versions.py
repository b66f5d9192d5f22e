"""resourceVersion and resourceVersionMatch of reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Versions")

TOO_LARGE = "999999999999"


@case("get at 0, at an old version and at the newest")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    newer = api.update("configmaps", "a", config_map("a", data={"k": "v"}))
    api.get("configmaps", "a", resourceVersion="0")
    api.get("configmaps", "a", resourceVersion=made.version)
    api.get("configmaps", "a", resourceVersion=newer.version)
    api.get("configmaps", "a", resourceVersion="")


@case("get at an invalid resourceVersion")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.get("configmaps", "a", resourceVersion="abc")
    api.get("configmaps", "a", resourceVersion="-1")


@case("get at a version that is not there yet")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.get("configmaps", "a", resourceVersion=TOO_LARGE)


@case("get of what is not there, at 0")
def _(api: Api) -> None:
    api.get("configmaps", "a", resourceVersion="0")


@case("get takes no notice of a match")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.get("configmaps", "a", resourceVersion="0", resourceVersionMatch="Exact")
    api.get("configmaps", "a", resourceVersionMatch="nonsense")


@case("list at 0 and at a version that is past shows the newest")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    api.list("configmaps", resourceVersion="0")
    api.list("configmaps", resourceVersion=made.version)
    api.list("configmaps", resourceVersion="")


@case("list not older than a version")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    api.list("configmaps", resourceVersion=made.version, resourceVersionMatch="NotOlderThan")
    api.list("configmaps", resourceVersion="0", resourceVersionMatch="NotOlderThan")


@case("list at exactly a version")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    api.delete("configmaps", "a")
    api.list("configmaps", resourceVersion=made.version, resourceVersionMatch="Exact")
    api.list("configmaps", resourceVersion=made.version, resourceVersionMatch="Exact", labelSelector="l=1")


@case("list at exactly a version, by pages")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    made = api.create("configmaps", config_map("b"))
    api.delete("configmaps", "b")
    first = api.list("configmaps", resourceVersion=made.version, resourceVersionMatch="Exact", limit=1)
    api.list("configmaps", limit=1, continue_=first.token)


@case("list not older than a version, with a limit")
def _(api: Api) -> None:
    made = api.create("configmaps", config_map("a"))
    api.create("configmaps", config_map("b"))
    api.list("configmaps", resourceVersion=made.version, resourceVersionMatch="NotOlderThan", limit=1)
    api.list("configmaps", resourceVersion="0", resourceVersionMatch="NotOlderThan", limit=1)


@case("a match without a version is refused")
def _(api: Api) -> None:
    api.list("configmaps", resourceVersionMatch="Exact")
    api.list("configmaps", resourceVersionMatch="NotOlderThan")


@case("a match that is not known is refused")
def _(api: Api) -> None:
    api.list("configmaps", resourceVersion="5", resourceVersionMatch="Nonsense")
    api.list("configmaps", resourceVersionMatch="Nonsense")


@case("exactly 0 is refused")
def _(api: Api) -> None:
    api.list("configmaps", resourceVersion="0", resourceVersionMatch="Exact")


@case("list at an invalid resourceVersion")
def _(api: Api) -> None:
    api.list("configmaps", resourceVersion="abc")
    api.list("configmaps", resourceVersion="abc", resourceVersionMatch="Exact")
    api.list("configmaps", resourceVersion="-1")


@case("list not older than a version that is not there yet")
def _(api: Api) -> None:
    api.list("configmaps", resourceVersion=TOO_LARGE)


@case("list at exactly a version that is not there yet")
def _(api: Api) -> None:
    api.list("configmaps", resourceVersion=TOO_LARGE, resourceVersionMatch="Exact")


@case("list at exactly a version that is forgotten")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a"))
    api.compact()
    api.list("configmaps", resourceVersion="1", resourceVersionMatch="Exact")
    api.list("configmaps", resourceVersion="1", limit=1)


@case("initial events are for watches alone")
def _(api: Api) -> None:
    api.list("configmaps", sendInitialEvents="true")
    api.list("configmaps", sendInitialEvents="false")
    api.list("configmaps", sendInitialEvents="true", resourceVersion="0", resourceVersionMatch="NotOlderThan")


@case("bookmarks and timeouts on a list mean nothing")
def _(api: Api) -> None:
    api.list("configmaps", allowWatchBookmarks="true", timeoutSeconds="5")


@case("a list across namespaces at 0")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", labels={"in": api.namespace}))
    api.list("configmaps", everywhere=True, resourceVersion="0", labelSelector=f"in={api.namespace}")
