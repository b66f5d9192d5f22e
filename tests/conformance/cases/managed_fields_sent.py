"""Managed fields: entries that clients send, right and wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Managed fields sent by clients")

THEN = "2001-02-03T04:05:06Z"
LATER = "2001-02-03T04:05:07Z"
OF_K: Plain = {"f:data": {"f:k": {}}}


def entry(manager: str | None = "one", fields: object = None, **more: Any) -> Plain:
    """An entry of an update, at a time that is compared."""
    made = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": THEN,
        "fieldsType": "FieldsV1",
        "fieldsV1": OF_K if fields is None else fields,
    }
    return {key: value for key, value in (made | more).items() if value is not None}


def with_entries(*entries: Any, **data: str) -> Plain:
    return config_map("a", data={"k": "1", **data}, managedFields=list(entries))


def send(api: Api, *entries: Any, **data: str) -> None:
    """Put entries in place of those of an object that there is."""
    api.update("configmaps", "a", with_entries(*entries, **data))


@case("a reset by an empty entry")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="one")
    api.update("configmaps", "a", with_entries({}), fieldManager="two")
    api.patch("configmaps", "a", {"data": {"l": "1"}}, fieldManager="two")


@case("a reset by an empty list")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="one")
    api.update("configmaps", "a", with_entries(), fieldManager="two")
    api.patch("configmaps", "a", {"metadata": {"managedFields": []}}, fieldManager="two")


@case("a reset that also changes something")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="one")
    api.update("configmaps", "a", with_entries({}, l="1"), fieldManager="two")
    patch = [
        {"op": "replace", "path": "/metadata/managedFields", "value": [{}]},
        {"op": "remove", "path": "/data/l"},
    ]
    api.patch("configmaps", "a", patch, by="json", fieldManager="three")


@case("no entries and null leave those that there are")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="one")
    api.update("configmaps", "a", config_map("a", data={"k": "1"}), fieldManager="two")
    api.patch("configmaps", "a", {"metadata": {"managedFields": None}}, fieldManager="two")
    api.patch("configmaps", "a", [{"op": "remove", "path": "/metadata/managedFields"}], by="json")


@case("a reset in a creation")
def _(api: Api) -> None:
    api.create("configmaps", with_entries({}))
    api.create("configmaps", config_map("b", data={"k": "1"}, managedFields=[]))
    api.create("configmaps", config_map("c", data={"k": "1"}, managedFields=None))


@case("entries in a creation")
def _(api: Api) -> None:
    api.create("configmaps", with_entries(entry()))
    api.create("configmaps", {**with_entries(entry(), l="1"), "metadata": {"name": "b", "managedFields": [entry()]}})
    api.create("configmaps", config_map("c", managedFields=[entry(operation="Apply")]))


@case("entries take the place of those that there are")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    send(api, entry("two"))
    send(api, entry("three"), entry("four", operation="Apply"))
    send(api, entry("three", time=LATER))


@case("entries come back sorted by operation, time and name")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    send(
        api,
        entry("zed", time=LATER),
        entry("ann", time=LATER),
        entry("mid"),
        entry("ann", operation="Apply", time=LATER),
        entry("bob", operation="Apply"),
        entry("ann", time=LATER, subresource="status"),
        entry("none", time=None),
        entry("ann", time=LATER, apiVersion="apps/v1"),
    )


@case("an entry that stands twice")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1", "l": "1"}))
    send(api, entry(), entry(fields={"f:data": {"f:l": {}}}, time=LATER), l="1")
    send(api, entry(operation="Apply"), entry(operation="Apply", apiVersion="v2", fields={"f:data": {}}), l="1")


@case("an entry and a change in one request")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    api.update("configmaps", "a", with_entries(entry(), l="1"), fieldManager="one")
    api.update("configmaps", "a", with_entries(entry("two"), l="2"), fieldManager="three")


@case("an update keeps the time of entries that it does not change")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    send(api, entry("one"), entry("two", operation="Apply"))
    api.patch("configmaps", "a", {"data": {"l": "1"}}, fieldManager="three")
    api.patch("configmaps", "a", {"data": {"l": "1"}}, fieldManager="one")
    api.patch("configmaps", "a", {"data": {"m": "1"}}, fieldManager="one")


@case("an apply that changes nothing keeps the time")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    send(api, entry("one", operation="Apply"))
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}))
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}), "two")
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}), force="true")


@case("an apply of the same values by another version keeps the time")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    send(api, entry("one", operation="Apply", apiVersion="v9"))
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}))


@case("operations that there are not")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    for operation in ("Patch", "", None, "update", 3):
        send(api, entry(operation=operation))


@case("types of fields that there are not")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    for kind in ("FieldsV2", "", None, "fieldsv1"):
        send(api, entry(fieldsType=kind))


@case("versions that there are not")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    for version in ("", None, "v9", "apps/v1", "a/b/c", "nonsense"):
        send(api, entry(apiVersion=version))
        api.patch("configmaps", "a", {"data": {"l": str(version)}}, fieldManager="two")


@case("impossible managers and subresources")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    for manager in ("x" * 129, "a\nb", "", None, "é" * 65):
        send(api, entry(manager=manager))
    send(api, entry(subresource="x" * 257))
    send(api, entry(subresource="x" * 256))
    send(api, entry(subresource="nonsense"))


@case("times that are none")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    for time in (
        "yesterday",
        "",
        3,
        "2001-02-03T04:05:06.789Z",
        "2001-02-03T04:05:06+02:00",
        "0001-01-01T00:00:00Z",
    ):
        send(api, entry(time=time))


@case("entries that are no entries")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    entries: tuple[object, ...] = ("text", 3, [], None)
    for wrong in entries:
        send(api, wrong)
    for no_list in ("text", 3, {"a": 1}):
        api.patch("configmaps", "a", {"metadata": {"managedFields": no_list}})
    send(api, {}, {})
    send(api, {"manager": "one"})
    send(api, entry(nonsense=1))


@case("fields that cannot be read")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="creator")
    unreadable: tuple[Plain, ...] = (
        {"data": {}},
        {"x:data": {}},
        {"f": {}},
        {"": {}},
        {"k:name": {}},
        {"k:[]": {}},
        {"k:{}": {}},
        {"v:": {}},
        {"v:{": {}},
        {"i:a": {}},
        {"i:1.5": {}},
    )
    for fields in unreadable:
        send(api, entry(fields=fields))


@case("fields that are no object")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="creator")
    sets: tuple[object, ...] = (
        [],
        "text",
        3,
        True,
        {"f:data": []},
        {"f:data": "k"},
        {"f:data": 1},
        {"f:data": None},
    )
    for fields in sets:
        send(api, entry(fields=fields))
    send(api, {**entry(), "fieldsV1": None})


@case("fields that the object does not have")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="creator")
    fields: Plain = {"f:data": {"f:none": {}, "f:k": {}}, "f:spec": {"f:replicas": {}}, "i:3": {}, "v:1": {}}
    send(api, entry(fields=fields))
    api.patch("configmaps", "a", {"data": {"l": "1"}}, fieldManager="two")
    send(api, entry("three", operation="Apply", fields=fields))
    api.apply("configmaps", "a", config_map("a", data={"k": "1"}), "three")


@case("fields of the metadata that no one can own")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    fields: Plain = {
        "f:apiVersion": {},
        "f:kind": {},
        "f:metadata": {".": {}, "f:name": {}, "f:uid": {}},
        "f:data": {".": {}},
    }
    send(api, entry("two", fields=fields))
    api.patch("configmaps", "a", {"data": {"l": "1"}}, fieldManager="two")


@case("fields in strange spellings")
def _(api: Api) -> None:
    api.create("deployments", deployment("a"))
    key = 'k:{ "name" : "main" , "x": [1, {"b": 2, "a": 1.0}]}'
    fields: Plain = {
        "f:spec": {"f:template": {"f:spec": {"f:containers": {key: {".": {}, "f:image": {}}}}}},
        "f:é": {},
    }
    patch = {"metadata": {"managedFields": [entry(fields=fields, apiVersion="apps/v1")]}}
    api.patch("deployments", "a", patch)
    fields = {
        'v:"b"': {},
        'v:"a"': {},
        "v:1": {},
        "v:1.5": {},
        "v:true": {},
        "v:null": {},
        "i:2": {},
        "i:-1": {},
    }
    patch = {"metadata": {"managedFields": [entry(fields={"f:x": fields}, apiVersion="apps/v1")]}}
    api.patch("deployments", "a", patch)


@case("a huge set of fields")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    fields: Plain = {"f:data": {f"f:{number:05}": {} for number in range(20_000)}}
    pick = lambda body: {**body, "metadata": len(body["metadata"].get("managedFields") or ())}  # noqa: E731
    api.request("PUT", api.path("configmaps", "a"), with_entries(entry(fields=fields)), pick=pick)
    patch = {"data": {"l": "1"}}
    headers = {"Content-Type": "application/merge-patch+json"}
    api.request("PATCH", api.path("configmaps", "a"), patch, headers=headers, pick=pick)


@case("a very deep set of fields")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}), fieldManager="creator")
    for depth in (100, 11_000):
        body = '{"metadata":{"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1",'
        body += '"fieldsType":"FieldsV1","fieldsV1":' + '{"f:a":' * depth + "{}" + "}" * depth + "}]}}"
        api.request(
            "PATCH",
            api.path("configmaps", "a"),
            body,
            headers={"Content-Type": "application/merge-patch+json"},
            pick=lambda found: found if found.get("kind") == "Status" else len(str(found["metadata"])) > 500,
        )


@case("more entries than a server keeps")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    seconds = (f"2001-02-03T04:05:{number:02}Z" for number in range(20))
    send(api, *(entry(f"m{number:02}", time=time) for number, time in enumerate(seconds)))
    api.patch("configmaps", "a", {"data": {"l": "1"}}, fieldManager="two")


@case("the oldest entries become ancient, and not those of appliers")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    entries = [
        entry(
            f"m{number:02}",
            time=f"2001-02-03T04:05:{59 - number:02}Z",
            fields={"f:data": {f"f:k{number}": {}}},
        )
        for number in range(11)
    ]
    send(api, *entries, entry("old", operation="Apply", time="2001-01-01T00:00:00Z"))
    api.patch("configmaps", "a", {"data": {"l": "1"}}, fieldManager="two")


@case("a conflict with entries that a client sent")
def _(api: Api) -> None:
    api.create("configmaps", config_map("a", data={"k": "1"}))
    send(
        api,
        entry("ann"),
        entry("bob", time=None),
        entry("cid", operation="Apply"),
        entry("dan", subresource="status"),
    )
    api.apply("configmaps", "a", config_map("a", data={"k": "2"}))
