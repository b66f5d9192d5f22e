"""Custom resources as Tables, with the columns of their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.definitions import definition, group_of, install, resource_of, version_of
from tests.conformance.rows import AS_TABLE, THEN, show

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Tables of custom resources")

ANYTHING: Plain = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SPEC: Plain = {
    "text": "text",
    "whole": 3,
    "fraction": 1.5,
    "large": 12345678.5,
    "yes": True,
    "no": False,
    "when": THEN,
    "null": None,
    "list": ["a", "b<c", "d"],
    "empty": [],
    "map": {"z": 1.0, "a": "<&>", "small": 0.00001, "huge": 1e21},
    "dotted.name": "dots",
    "nested": {"deep": 7},
    "conditions": [
        {"type": "Synced", "status": "Unknown", "rank": 1},
        {"type": "Ready", "status": "True", "rank": 2},
        {"type": "Ready", "status": "False", "rank": 3},
    ],
}


def column(name: str, path: str, kind: str = "string", **more: Any) -> Plain:
    return {"name": name, "type": kind, "jsonPath": path, **more}


def widget(api: Api, name: str = "a", **fields: Any) -> Plain:
    return {
        "apiVersion": f"{group_of(api)}/v1",
        "kind": "Widget",
        "metadata": {"name": name, "annotations": {"example.com/note": "noted"}},
        **fields,
    }


def show_columns(api: Api, columns: list[Plain], *specs: Plain) -> None:
    """Install a definition with columns, and show a row for each spec."""
    install(api, definition(api, version={"additionalPrinterColumns": columns}))
    for number, spec in enumerate(specs or (SPEC,)):
        api.create(resource_of(api), widget(api, f"w{number}", spec=spec))
        show(api, resource_of(api), f"w{number}")


@case("without columns there is an age")
def _(api: Api) -> None:
    install(api, definition(api))
    api.request("GET", api.path(resource_of(api)), headers=AS_TABLE)
    api.create(resource_of(api), widget(api))
    api.request("GET", api.path(resource_of(api)), headers=AS_TABLE)
    show(api, resource_of(api), "a")


@case("columns of every type")
def _(api: Api) -> None:
    kinds = ("string", "integer", "number", "boolean", "date")
    show_columns(
        api,
        [column(f"{field}-{kind}", f".spec.{field}", kind) for field in SPEC if "." not in field for kind in kinds],
    )


@case("values of other types than their columns have")
def _(api: Api) -> None:
    columns = [column(kind, ".spec.v", kind) for kind in ("string", "integer", "number", "boolean", "date")]
    values: list[Any] = ["", "null", "3", 3.99, -3.99, 1000000.5, {}, [], "2001-02-03", [None]]
    show_columns(api, columns, *({"v": value} for value in values))


@case("columns have formats, priorities and descriptions")
def _(api: Api) -> None:
    columns = [
        column("One", ".spec.text", priority=1),
        column("Two", ".spec.whole", "integer", format="int32", description="A description of a case"),
        column("Three", ".metadata.creationTimestamp", "date", priority=10),
    ]
    show_columns(api, columns)


@case("paths of fields")
def _(api: Api) -> None:
    show_columns(
        api,
        [
            column("dots", r".spec.dotted\.name"),
            column("quoted", r".spec['dotted\.name']"),
            column("note", r".metadata.annotations.example\.com/note"),
            column("quoted note", r".metadata.annotations['example\.com/note']"),
            column("missing", ".spec.none.below"),
            column("below text", ".spec.text.below"),
            column("whole", "."),
            column("all", ".spec.nested.*"),
            column("everywhere", "..deep"),
            column("kind", ".kind"),
            column("version", ".apiVersion"),
            column("blank", ".spec .text"),
            column("dollar", ".spec$.text"),
        ],
    )


@case("paths of lists")
def _(api: Api) -> None:
    inside = (
        "0",
        "2",
        "3",
        "-1",
        "-3",
        "-4",
        "*",
        ":",
        "0:2",
        "1:",
        ":1",
        "-2:",
        "0:0",
        "2:1",
        "0:9",
        "::2",
        "0:3:2",
    )
    columns = [column(each, f".spec.list[{each}]") for each in inside]
    columns += [
        column("of an empty one", ".spec.empty[0]"),
        column("of all of an empty one", ".spec.empty[*]"),
        column("of text", ".spec.text[0]"),
        column("of nothing", ".spec.none[0]"),
        column("of null", ".spec.null[0]"),
        column("several", ".spec.list[2,0]"),
        column("several fields", ".spec['whole','text']"),
        column("a step of none", ".spec.list[0:2:0]"),
    ]
    show_columns(api, columns)


@case("paths with filters")
def _(api: Api) -> None:
    filters = (
        '@.type=="Ready"',
        "@.type=='Ready'",
        "@.type!='Ready'",
        "@.type == 'Ready'",
        "@.rank==2",
        "@.rank>1",
        "@.rank>=3",
        "@.rank<2",
        "@.rank<=0",
        "@.rank==2.0",
        "@.rank=='2'",
        "@.type>'S'",
        "@.none=='x'",
        "@.none",
        "@.rank",
        "@.type=='none'",
        "@.type==@.status",
    )
    columns = [column(each, f".spec.conditions[?({each})].status") for each in filters]
    columns += [
        column("of a map", ".spec.map[?(@.a=='b')]"),
        column("of nothing", ".spec.none[?(@.a=='b')]"),
        column("of text in a list", ".spec.list[?(@=='d')]"),
    ]
    show_columns(api, columns)


@case("a path that cannot be parsed hides its column and all behind it")
def _(api: Api) -> None:
    for number, path in enumerate((".spec[", ".spec[x]", ".spec[?(@.a]", ".spec[?(@.a)", ".a....b", ".a}", '.a["b]')):
        plural = f"widgets{number}"
        columns = [column("One", ".spec.text"), column("Two", path), column("Three", ".spec.whole")]
        install(
            api,
            definition(api, plural=plural, kind=f"Widget{number}", version={"additionalPrinterColumns": columns}),
        )
        api.create(resource_of(api, plural), {**widget(api, spec=SPEC), "kind": f"Widget{number}"})
        show(api, resource_of(api, plural), "a")


@case("each version has columns of its own")
def _(api: Api) -> None:
    versions = [
        version_of(ANYTHING, "v1", additionalPrinterColumns=[column("One", ".spec.text")]),
        version_of(ANYTHING, "v2", additionalPrinterColumns=[column("Version", ".apiVersion")]),
    ]
    install(api, definition(api, versions=versions))
    api.create(resource_of(api), widget(api, spec=SPEC))
    show(api, resource_of(api), "a")
    show(api, resource_of(api, version="v2"), "a")


@case("a status and a scale")
def _(api: Api) -> None:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    install(
        api,
        definition(
            api,
            version={
                "subresources": {"status": {}, "scale": scale},
                "additionalPrinterColumns": [column("Phase", ".status.phase")],
            },
        ),
    )
    api.create(resource_of(api), widget(api, spec={"replicas": 3}))
    api.patch(resource_of(api), "a/status", {"status": {"phase": "Done", "replicas": 2}})
    show(api, resource_of(api), "a/status")
    show(api, resource_of(api), "a/scale")


@case("a watch")
def _(api: Api) -> None:
    install(api, definition(api, version={"additionalPrinterColumns": [column("Text", ".spec.text")]}))
    made = api.create(resource_of(api), widget(api, spec=SPEC))
    api.patch(resource_of(api), "a", {"spec": {"text": "other"}})
    api.delete(resource_of(api), "a")
    query = {"watch": "true", "resourceVersion": made.version}
    with api.stream(api.path(resource_of(api)), query={**query}, headers=AS_TABLE) as stream:
        stream.read(2)
    query = {
        "watch": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    with api.stream(api.path(resource_of(api)), query={**query}, headers=AS_TABLE) as stream:
        stream.read(1)
