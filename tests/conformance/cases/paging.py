"""limit and continue."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.objects import config_map

if TYPE_CHECKING:
    from tests.conformance.api import Api

case = area("Paging")


def token(**parts: object) -> str:
    """A continue token, as the server makes them."""
    written = json.dumps({"v": "meta.k8s.io/v1", **parts}, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(written).decode().rstrip("=")


def some(api: Api, count: int = 5) -> None:
    for number in range(count):
        api.create("configmaps", config_map(f"a{number}", labels={"odd": str(number % 2)}))


@case("a list is walked page by page")
def _(api: Api) -> None:
    some(api)
    first = api.list("configmaps", limit=2)
    second = api.list("configmaps", limit=2, continue_=first.token)
    api.list("configmaps", limit=2, continue_=second.token)


@case("the rest comes at once without a limit")
def _(api: Api) -> None:
    some(api)
    first = api.list("configmaps", limit=2)
    api.list("configmaps", continue_=first.token)


@case("a limit that is enough leaves nothing to continue")
def _(api: Api) -> None:
    some(api, 2)
    api.list("configmaps", limit=2)
    api.list("configmaps", limit=3)
    api.list("configmaps", limit=0)


@case("pages show the first page's moment, whatever is written")
def _(api: Api) -> None:
    some(api)
    first = api.list("configmaps", limit=2)
    api.delete("configmaps", "a3")
    api.create("configmaps", config_map("a2-new"))
    api.update("configmaps", "a4", config_map("a4", data={"new": "data"}))
    second = api.list("configmaps", limit=2, continue_=first.token)
    api.list("configmaps", limit=2, continue_=second.token)


@case("the limit may change from page to page")
def _(api: Api) -> None:
    some(api)
    first = api.list("configmaps", limit=1)
    second = api.list("configmaps", limit=3, continue_=first.token)
    api.list("configmaps", limit=10, continue_=second.token)


@case("with a selector there is no remainingItemCount")
def _(api: Api) -> None:
    some(api)
    first = api.list("configmaps", limit=1, labelSelector="odd=0")
    api.list("configmaps", limit=1, labelSelector="odd=0", continue_=first.token)
    api.list("configmaps", limit=1, fieldSelector="metadata.name!=a0")


@case("a page may have been filled by nothing")
def _(api: Api) -> None:
    some(api)
    api.list("configmaps", limit=2, labelSelector="odd=7")
    api.list("configmaps", limit=1, fieldSelector="metadata.name=a3")


@case("a token is good in another namespace")
def _(api: Api) -> None:
    some(api, 3)
    first = api.list("configmaps", limit=1)
    api.request("GET", f"/api/v1/namespaces/{api.namespace}-none/configmaps", query={"continue": first.token})


@case("a token is good for another kind")
def _(api: Api) -> None:
    some(api, 3)
    first = api.list("configmaps", limit=1)
    api.list("secrets", continue_=first.token)


@case("tokens that are none are refused")
def _(api: Api) -> None:
    for bad in (
        "nonsense",
        "e30",
        token(rv=5),
        token(rv=0, start="a\u0000"),
        "!!!",
        token(v="other", rv=5, start="a"),
    ):
        api.list("configmaps", limit=1, continue_=bad)


@case("a token that climbs out of its place is refused")
def _(api: Api) -> None:
    for start in ("../secrets/a", "a/../../b"):
        api.list("configmaps", limit=1, continue_=token(rv=5, start=start))


@case("a token of version -1 reads what is there now")
def _(api: Api) -> None:
    some(api, 3)
    api.list("configmaps", limit=1, continue_=token(rv=-1, start="/a0\u0000"))


@case("a token of a version that is not there yet is refused")
def _(api: Api) -> None:
    some(api, 1)
    api.list("configmaps", limit=1, continue_=token(rv=999999999999, start="/a0\u0000"))


@case("a token and a version exclude each other")
def _(api: Api) -> None:
    some(api, 3)
    first = api.list("configmaps", limit=1)
    api.list("configmaps", limit=1, continue_=first.token, resourceVersion=first.version)
    api.list("configmaps", limit=1, continue_=first.token, resourceVersion="0")
    api.list("configmaps", limit=1, continue_=first.token, resourceVersionMatch="Exact")


@case("version 0 takes no notice of the limit")
def _(api: Api) -> None:
    some(api, 3)
    api.list("configmaps", limit=1, resourceVersion="0")


@case("a limit with a version means exactly that version")
def _(api: Api) -> None:
    some(api, 2)
    made = api.create("configmaps", config_map("b"))
    api.create("configmaps", config_map("c"))
    first = api.list("configmaps", limit=2, resourceVersion=made.version)
    api.list("configmaps", limit=2, continue_=first.token)


@case("an expired continue token returns an inconsistent continue token")
def _(api: Api) -> None:
    some(api, 3)
    api.create("configmaps", config_map("later"))
    api.compact()
    expired = api.list("configmaps", limit=1, continue_=token(rv=1, start="/a0\u0000"))
    api.list("configmaps", limit=5, continue_=expired.token)


@case("limits that are no numbers are refused")
def _(api: Api) -> None:
    for bad in ("abc", "-1", "1.5", ""):
        api.list("configmaps", limit=bad)


@case("pages across namespaces")
def _(api: Api) -> None:
    for name in ("a", "b", "c"):
        api.create("configmaps", config_map(name, labels={"in": api.namespace}))
    selector = f"in={api.namespace}"
    first = api.list("configmaps", everywhere=True, limit=2, labelSelector=selector)
    api.list("configmaps", everywhere=True, limit=2, labelSelector=selector, continue_=first.token)


@case("a limit on a watch is ignored")
def _(api: Api) -> None:
    some(api, 2)
    api.watch("configmaps", events=2, limit=1)
