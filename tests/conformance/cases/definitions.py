"""CustomResourceDefinitions: which are accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.definitions import (
    DEFINITIONS,
    NUMBER,
    TEXT,
    definition,
    group_of,
    object_of,
    version_of,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Definitions")


def _try(api: Api, schema: Plain | None = None, **spec: Any) -> None:
    """Create a definition that is refused; one that is not would show up as a difference."""
    api.create(DEFINITIONS, definition(api, schema, **spec), dryRun="All")


# Metadata and names


@case("a definition gets its defaults")
def _(api: Api) -> None:
    api.create(DEFINITIONS, definition(api, object_of(spec=object_of(size=NUMBER))))


@case("a status is dropped, and the storage version noted")
def _(api: Api) -> None:
    status = {"storedVersions": ["v7"], "acceptedNames": {"plural": "x", "kind": "X"}, "conditions": []}
    api.create(DEFINITIONS, definition(api) | {"status": status})


@case("the name is the plural and the group")
def _(api: Api) -> None:
    _try(api, metadata={"name": "widgets"})
    _try(api, names={"plural": "gadgets"})
    _try(api, metadata={"name": f"Widgets.{group_of(api)}"}, names={"plural": "Widgets"})


@case("a definition needs a name")
def _(api: Api) -> None:
    _try(api, metadata={"name": ""})
    _try(api, metadata={"name": "", "generateName": "widgets-"})


@case("an empty spec lacks everything")
def _(api: Api) -> None:
    api.create(DEFINITIONS, definition(api) | {"spec": {}})


@case("a group is a domain with a dot")
def _(api: Api) -> None:
    for group in ("", "example", "Example.com", "-.com"):
        _try(api, group=group)


@case("a scope is Cluster or Namespaced")
def _(api: Api) -> None:
    for scope in ("", "Global", "namespaced"):
        _try(api, scope=scope)


@case("plural, singular and short names are DNS labels")
def _(api: Api) -> None:
    _try(api, names={"singular": "Widget"})
    _try(api, names={"singular": "w" * 64})
    _try(api, names={"shortNames": ["w", "W", "", "w_w"]})
    _try(api, names={"categories": ["all", "All things"]})


@case("a kind is a DNS label but for its case")
def _(api: Api) -> None:
    _try(api, names={"kind": "My_Widget"})
    _try(api, names={"kind": "9Widget", "singular": "widget"})
    _try(api, names={"kind": "Widget", "listKind": "Widget List"})


@case("names that are required are missing")
def _(api: Api) -> None:
    _try(api, names={"kind": ""})
    _try(api, names={"plural": ""})


@case("kind and listKind differ")
def _(api: Api) -> None:
    _try(api, names={"listKind": "Widget"})


@case("short names may repeat")
def _(api: Api) -> None:
    api.create(DEFINITIONS, definition(api, names={"shortNames": ["w", "w"], "categories": ["all"]}))


@case("groups of Kubernetes need an approval")
def _(api: Api) -> None:
    group = f"{group_of(api)}.k8s.io"
    for approval in ("", "soon", "http://", "https://github.com/x/y/pull/1"):
        annotations = {"api-approved.kubernetes.io": approval}
        _try(api, group=group, metadata={"name": f"widgets.{group}", "annotations": annotations})
    group = f"{group_of(api)}.kubernetes.io"
    annotations = {"api-approved.kubernetes.io": "unapproved, a test"}
    _try(api, group=group, metadata={"name": f"widgets.{group}", "annotations": annotations})
    _try(api, group=group, metadata={"name": f"widgets.{group}"})


# Versions


@case("there must be a version")
def _(api: Api) -> None:
    found = definition(api)
    del found["spec"]["versions"]
    api.create(DEFINITIONS, found)


@case("exactly one version is stored")
def _(api: Api) -> None:
    _try(api, version={"storage": False})
    _try(api, versions=[version_of(TEXT), version_of(TEXT, "v2", storage=True)])
    _try(api, versions=[version_of(object_of(a=TEXT)), version_of(object_of(a=NUMBER), "v2", storage=True)])


@case("names of versions are unique")
def _(api: Api) -> None:
    _try(api, versions=[version_of(object_of()), version_of(object_of(), storage=False)])


@case("names of versions are DNS labels")
def _(api: Api) -> None:
    for name in ("", "V1", "1", "v1.0", "v" * 64):
        _try(api, version={"name": name, "storage": True})


@case("the first version is in the messages of its own")
def _(api: Api) -> None:
    _try(api, versions=[version_of(object_of(), "V2"), version_of(object_of())])


@case("a version may be served or not")
def _(api: Api) -> None:
    versions = [version_of(object_of(), served=False), version_of(object_of(), "v2", served=False)]
    api.create(DEFINITIONS, definition(api, versions=versions))


@case("only a deprecated version has a warning")
def _(api: Api) -> None:
    _try(api, version={"deprecationWarning": "use v2"})
    _try(api, version={"deprecated": True, "deprecationWarning": ""})
    _try(api, version={"deprecated": True, "deprecationWarning": "x" * 257})
    _try(api, version={"deprecated": True, "deprecationWarning": "a\nb"})
    _try(api, version={"deprecated": True, "deprecationWarning": "use v2"})


@case("every version has a schema")
def _(api: Api) -> None:
    _try(api, versions=[version_of()])
    _try(api, versions=[version_of(object_of()), version_of(name="v2")])
    _try(api, versions=[version_of() | {"schema": {}}])


@case("errors of schemas that differ name their version")
def _(api: Api) -> None:
    _try(api, versions=[version_of(object_of(a={})), version_of(object_of(b={"type": "text"}), "v2")])


@case("errors of a schema that all versions share do not")
def _(api: Api) -> None:
    _try(api, versions=[version_of(object_of(a={})), version_of(object_of(a={}), "v2")])


@case("unknown fields cannot be preserved by the definition")
def _(api: Api) -> None:
    _try(api, preserveUnknownFields=True)
    _try(api, object_of(a={"type": "string", "default": "x"}), preserveUnknownFields=True)
    _try(api, preserveUnknownFields=False)


# Conversion


def _convert(api: Api, strategy: str = "Webhook", reviews: list[str] | None = None, **config: Any) -> None:
    versions = ["v1"] if reviews is None else reviews
    webhook: Plain = {"clientConfig": config or None, "conversionReviewVersions": versions}
    _try(api, conversion={"strategy": strategy, "webhook": webhook})


@case("a conversion is None or by a webhook")
def _(api: Api) -> None:
    for strategy in ("None", "Hook", ""):
        _try(api, conversion={"strategy": strategy})
    _try(api, conversion={})


@case("a webhook belongs to its strategy")
def _(api: Api) -> None:
    _try(api, conversion={"strategy": "Webhook"})
    _convert(api)
    _convert(api, "None", url="https://example.com")
    _convert(api, url="https://example.com", service={"name": "a", "namespace": "b"})
    _convert(api, url="https://example.com/convert")


@case("a webhook's URL is plain https")
def _(api: Api) -> None:
    for url in (
        "http://example.com",
        "https://",
        "https://me:secret@example.com?a=b#c",
        "%zz",
        "https://example.com:port",
        "https://a b/",
        ":x",
        "1:x",
        "",
        "https://example.com/\x01",
    ):
        _convert(api, url=url)


@case("a webhook's service has a name, a namespace, a path and a port")
def _(api: Api) -> None:
    _convert(api, service={"name": "a", "namespace": "b"})
    _convert(api, service={"name": "", "namespace": "b", "port": 0})
    _convert(api, service={"name": "a", "namespace": "", "port": 70000})
    for path in ("/a/b/", "//", "a", "/a//B", "/"):
        _convert(api, service={"name": "a", "namespace": "b", "path": path})


@case("a webhook takes a known version of reviews")
def _(api: Api) -> None:
    for reviews in ([], ["v2"], ["v1", "v1", "v1beta1"], ["V1"], ["v2", "v1beta1"]):
        _convert(api, reviews=reviews, url="https://example.com")


@case("a new webhook may have certificates that are none")
def _(api: Api) -> None:
    _convert(api, url="https://example.com", caBundle="bm8gY2VydGlmaWNhdGU=")


# Subresources, columns and selectable fields


@case("scale names where replicas are")
def _(api: Api) -> None:
    for scale in (
        {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        {"specReplicasPath": "", "statusReplicasPath": ""},
        {"specReplicasPath": "spec.replicas", "statusReplicasPath": ".spec.replicas"},
        {"specReplicasPath": ".status.replicas", "statusReplicasPath": "."},
        {
            "specReplicasPath": ".spec.r",
            "statusReplicasPath": ".status.r",
            "labelSelectorPath": ".metadata.labels",
        },
        {"specReplicasPath": ".spec.r", "statusReplicasPath": ".status.r", "labelSelectorPath": "selector"},
        {"specReplicasPath": ".spec.r", "statusReplicasPath": ".status.r", "labelSelectorPath": ""},
    ):
        _try(api, version={"subresources": {"scale": scale}})


@case("subresources that versions share are in the spec")
def _(api: Api) -> None:
    bad: Plain = {"scale": {"specReplicasPath": ".a", "statusReplicasPath": ".b"}}
    both = [version_of(object_of(), subresources=bad), version_of(object_of(), "v2", subresources=bad)]
    _try(api, versions=both)
    _try(api, versions=[both[0], version_of(object_of(), "v2", subresources={"status": {}})])


@case("with a status, the root of a schema has few fields")
def _(api: Api) -> None:
    status: Plain = {"subresources": {"status": {}}}
    _try(api, object_of(a=TEXT) | {"maxProperties": 3}, version=status)
    _try(api, {"type": "string"}, version=status)
    _try(api, object_of() | {"required": ["spec"], "description": "x"}, version=status)
    _try(api, object_of(a=TEXT) | {"oneOf": [{"required": ["spec"]}]}, version=status)


@case("printer columns have a name, a type and a path")
def _(api: Api) -> None:
    for column in (
        {"name": "", "type": "", "jsonPath": ""},
        {"name": "a", "type": "text", "jsonPath": "spec"},
        {"name": "a", "type": "string", "format": "uuid", "jsonPath": ".spec"},
        {"name": "a", "type": "integer", "format": "int64", "jsonPath": ".spec", "priority": -1},
        {"name": "a", "type": "string", "jsonPath": ".a[?(@.b"},
    ):
        _try(api, version={"additionalPrinterColumns": [column]})


@case("columns of one version only")
def _(api: Api) -> None:
    columns: list[Plain] = [{"name": "a", "type": "", "jsonPath": ".a"}]
    _try(
        api,
        versions=[version_of(object_of()), version_of(object_of(), "v2", additionalPrinterColumns=columns)],
    )


@case("selectable fields are fields with simple types")
def _(api: Api) -> None:
    schema = object_of(
        spec=object_of(
            color={"type": "string", "enum": ["red"]},
            size=NUMBER,
            ok={"type": "boolean"},
            weight={"type": "number"},
            tags={"type": "array", "items": TEXT},
            labels={"type": "object", "additionalProperties": TEXT},
        ),
        metadata=object_of(name=TEXT),
    )
    for path in (
        ".spec.color",
        ".spec.labels.x",
        "",
        "spec.color",
        ".spec",
        ".spec.weight",
        ".spec.tags[0]",
        ".spec.tags",
        ".spec.shape",
        ".metadata.name",
        ".spec.",
        ".spec..color",
    ):
        _try(api, schema, version={"selectableFields": [{"jsonPath": path}]})


@case("selectable fields are eight at most, and each once")
def _(api: Api) -> None:
    fields = {f"f{number}": TEXT for number in range(9)}
    paths = [{"jsonPath": f".{name}"} for name in fields]
    _try(api, object_of(**fields), version={"selectableFields": paths})
    _try(api, object_of(**fields), version={"selectableFields": [*paths[:8], paths[0]]})


@case("selectable fields need a schema")
def _(api: Api) -> None:
    _try(api, versions=[version_of(selectableFields=[{"jsonPath": ".a"}])])
    _try(
        api,
        versions=[
            version_of(object_of(a=TEXT)),
            version_of(name="v2", selectableFields=[{"jsonPath": ".a"}]),
        ],
    )
