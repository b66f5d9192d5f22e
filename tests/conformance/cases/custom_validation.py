"""Custom resources: which values their schemas allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.definitions import NUMBER, TEXT, definition, group_of, install, object_of, resource_of

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Values of custom resources")


def widget(api: Api, spec: Any, name: str = "a") -> Plain:
    """An object of the case's definition."""
    return {
        "apiVersion": f"{group_of(api)}/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": spec,
    }


def _values(sentence: str, schema: Plain, *values: Any) -> None:
    """A case that tries values of a field."""

    @case(sentence)
    def _(api: Api) -> None:
        install(api, definition(api, object_of(spec=object_of(value=schema))))
        for value in values:
            api.create(resource_of(api), widget(api, {"value": value}), dryRun="All")


def _strings(sentence: str, schema: Plain, *values: Any) -> None:
    _values(sentence, TEXT | schema, *values)


LIST: Plain = {"type": "array", "items": TEXT}
SMALL: Plain = object_of(a=TEXT, b=NUMBER)
INT_OR_STRING: Plain = {"x-kubernetes-int-or-string": True}

# Types

_values("a string is no number, boolean, list or object", TEXT, "a", 1, 1.5, True, [], {})
_values("an integer may be written with a fraction of zero", NUMBER, 3, 3.0, 3.5, "3", True, 1e20)
_values("a number may be an integer", {"type": "number"}, 1, 1.5, -1e-7, "1", False)
_values("a boolean is true or false", {"type": "boolean"}, True, False, "true", 0)
_values("an object is no list and no text", SMALL, {}, {"a": "x"}, [], "x", 1)
_values("a list is no object and no text", LIST, [], ["a"], {}, "a", 1)
_values("an integer or string is one of them", INT_OR_STRING, 1, "a", "50%", 1.0, 1.5, True, [], {})
_values(
    "an integer or string may say so twice",
    INT_OR_STRING | {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    1,
    "a",
    1.5,
    {},
)
_values(
    "a value of any type may be anything",
    {"x-kubernetes-preserve-unknown-fields": True},
    1,
    "a",
    [1],
    {"a": {}},
    None,
)
_values("null is allowed where it is", TEXT | {"nullable": True}, None, "a", 1)
_values("null in a list is not dropped", LIST, ["a", None])
_values(
    "null in a list is allowed where it is",
    {"type": "array", "items": TEXT | {"nullable": True}},
    ["a", None],
)

# Numbers

_values("a number has a minimum", NUMBER | {"minimum": 2}, 1, 2, 1.0)
_values("a number has a maximum", NUMBER | {"maximum": 2}, 3, 2, 3.0)
_values("limits may be exclusive", {"type": "number", "minimum": 0, "exclusiveMinimum": True}, 0, 0.1, -1)
_values("an upper limit may be exclusive", {"type": "number", "maximum": 1.5, "exclusiveMaximum": True}, 1.5, 1.4)
_values("a limit with a fraction is cut for an integer", {"type": "number", "maximum": 2.5}, 2, 3, 2.6)
_values("an integer with such a limit is never valid", NUMBER | {"maximum": 2.5}, 1)
_values("a number is a multiple of another", NUMBER | {"multipleOf": 3}, 9, 10, -3)
_values("a number is a multiple of a fraction", {"type": "number", "multipleOf": 0.5}, 1.5, 1.3)
_values("large numbers in messages have exponents", {"type": "number", "maximum": 1e6}, 1234567.5, 1e21)
_values("an integer fits into 32 bits", NUMBER | {"format": "int32"}, 2**31 - 1, 2**31, -(2**31) - 1)
_values("an integer fits into 64 bits", NUMBER | {"format": "int64"}, 2**63 - 1, 2**63)
_values("a number fits into a float", {"type": "number", "format": "float"}, 1e38, 1e39)
_values("other formats of numbers are ignored", NUMBER | {"format": "uint8"}, 300)

# Texts

_strings("a text has a maximum of characters", {"maxLength": 3}, "äöü", "abcd")
_strings("a text has a minimum of characters", {"minLength": 2}, "ä", "äö", "")
_strings("a text matches a pattern somewhere", {"pattern": "b+"}, "abc", "ac", "")
_strings("a pattern may be anchored", {"pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"}, "a-b", "a-", "A", "a\n")
_strings("a pattern has the syntax of Go", {"pattern": r"(?i)^\pL+(?P<n>\d{2})\z"}, "Äb12", "äb1", "a12\n")
_strings("quotes in a bad value are escaped", {"pattern": "^a$"}, 'q"\\\n\té\x7f<&>')
_strings("a length is checked before the pattern", {"maxLength": 2, "pattern": "^a$"}, "bbb", "b")
_strings("a pattern that explodes elsewhere takes no time", {"pattern": "^(a+)+$"}, "a" * 5_000 + "b")

# Enumerations

_strings("a text is one of several", {"enum": ["b", "a", ""]}, "a", "", "c", "A")
_values("a number is one of several", {"type": "number", "enum": [1, 2.5]}, 1, 1.0, 2.5, 3)
_values(
    "an object is one of several",
    SMALL | {"enum": [{"a": "x", "b": 1}]},
    {"b": 1, "a": "x"},
    {"b": 2, "a": "x"},
)
_strings("null is no member of an enumeration", {"enum": ["a"], "nullable": True}, None, "a")

# Formats

_strings("format date-time", {"format": "date-time"}, "2024-02-29T23:59:59Z", "2024-02-30T00:00:00Z", "2024-01-01")
_strings("format date", {"format": "date"}, "2024-02-29", "2023-02-29", "2023-2-1")
_strings("format duration", {"format": "duration"}, "1h30m", "3 days", "1.5", "")
_strings("format byte", {"format": "byte"}, "aGk=", "aGk", "", "a-k=")
_strings("format email", {"format": "email"}, "a@example.com", "A <a@example.com>", "a@", "a..b@c")
_strings("format hostname", {"format": "hostname"}, "a.example", "a_b", "-a", "a..b")
_strings("format ipv4", {"format": "ipv4"}, "10.0.0.1", "010.0.0.1", "10.0.0.256", "::1")
_strings("format ipv6", {"format": "ipv6"}, "::1", "fe80::1%eth0", "10.0.0.1")
_strings("format cidr", {"format": "cidr"}, "10.0.0.0/8", "::/0", "10.0.0.0", "10.0.0.0/33")
_strings("format mac", {"format": "mac"}, "01:23:45:67:89:ab", "0123.4567.89ab", "01:23:45:67:89")
_strings("format uri", {"format": "uri"}, "https://a.example/b?c", "/a", "a", "https://a b/", "")
_strings("format uuid", {"format": "uuid"}, "A987FBC9-4BED-3078-CF07-9141BA07C9F3", "a987fbc9")
_strings(
    "format uuid4",
    {"format": "uuid4"},
    "a987fbc9-4bed-4078-8f07-9141ba07c9f3",
    "a987fbc9-4bed-3078-8f07-9141ba07c9f3",
)
_strings("formats of Kubernetes' names", {"format": "k8s-short-name"}, "a-b", "a.b", "A")
_strings("formats of Kubernetes' long names", {"format": "k8s-long-name"}, "a-b.c", "a..b", "A")
_strings("formats of colors", {"format": "hexcolor"}, "#fff", "#ffff")
_strings("formats of numbers of books", {"format": "isbn"}, "978-0321751041", "978-0321751042")
_strings("unknown formats are ignored", {"format": "semver"}, "anything")
_strings("a format names the type of what is no text", {"format": "date"}, 5, True, {}, [])

# Lists

_values(
    "a list has a minimum and a maximum of items",
    LIST | {"minItems": 1, "maxItems": 2},
    [],
    ["a"],
    ["a", "b", "c"],
)
_values("an item of a list is named by its index", {"type": "array", "items": SMALL}, [{}, {"b": "x"}], [{}, 1])
_values(
    "a list in a list is named by both indices",
    {"type": "array", "items": {"type": "array", "items": NUMBER}},
    [[1], [2, "x"]],
)
_values(
    "no two items of a set are equal",
    LIST | {"x-kubernetes-list-type": "set"},
    ["a", "b"],
    ["a", "b", "a", "a"],
    ["a", "a", "b", "b"],
)
_values(
    "no two items of a list have equal keys",
    {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a"],
        "items": SMALL | {"required": ["a"]},
    },
    [{"a": "x"}, {"a": "y"}],
    [{"a": "x", "b": 1}, {"a": "x", "b": 2}],
)
_values(
    "keys may be several, and may have defaults",
    {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a", "b"],
        "items": object_of(a=TEXT, b=NUMBER | {"default": 1}) | {"required": ["a"]},
    },
    [{"a": "x"}, {"a": "x", "b": 2}],
    [{"a": "x"}, {"a": "x", "b": 1}],
)
_values(
    "lists in maps are named by their keys",
    {"type": "object", "additionalProperties": LIST | {"x-kubernetes-list-type": "set"}},
    {"k.1": ["a", "a"]},
)

# Objects

_values("fields are required", SMALL | {"required": ["a"]}, {"a": ""}, {"b": 1}, {"a": None, "b": 1})
_values("several fields that are missing are listed", SMALL | {"required": ["b", "a"]}, {})
_values(
    "an object has a minimum and a maximum of fields",
    SMALL | {"minProperties": 1, "maxProperties": 1},
    {},
    {"a": ""},
    {"a": "", "b": 1},
)
_values(
    "a value of a map is named by its key",
    {"type": "object", "additionalProperties": NUMBER},
    {"a": 1},
    {"x.y/z": "a"},
)
_values(
    "a map has a maximum of entries",
    {"type": "object", "additionalProperties": NUMBER, "maxProperties": 1},
    {"a": 1, "b": 2},
)

# Alternatives

_values("all of several schemas hold", NUMBER | {"allOf": [{"minimum": 1}, {"maximum": 3}]}, 2, 0, 4)
_values("none of all schemas holds", NUMBER | {"allOf": [{"minimum": 5}, {"multipleOf": 2}]}, 3)
_values("any of several schemas holds", TEXT | {"anyOf": [{"pattern": "^a"}, {"maxLength": 1}]}, "abc", "x", "xyz")
_values("one of several schemas holds", NUMBER | {"oneOf": [{"minimum": 5}, {"multipleOf": 2}]}, 2, 5, 6, 3)
_values("a schema does not hold", NUMBER | {"not": {"enum": [3]}}, 2, 3)
_values(
    "alternatives may be about fields",
    SMALL | {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"a": ""},
    {"b": 1},
    {},
    {"a": "", "b": 1},
)
_values(
    "the alternative that fits best is reported",
    SMALL
    | {
        "anyOf": [
            {"properties": {"a": {"enum": ["x"]}, "b": {"minimum": 5}}},
            {"properties": {"b": {"maximum": 1}}},
        ]
    },
    {"a": "y", "b": 6},
)

# Embedded objects

EMBEDDED: Plain = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
_values(
    "an embedded object has a kind and a version",
    EMBEDDED,
    {"apiVersion": "v1", "kind": "Pod"},
    {"apiVersion": "v1"},
    {"kind": "Pod"},
)
_values(
    "the kind and version of an embedded object are valid",
    EMBEDDED,
    {"apiVersion": "a/b/c", "kind": "Pod"},
    {"apiVersion": "", "kind": "Pod"},
    {"apiVersion": "v1", "kind": "no_kind"},
    {"apiVersion": "v1", "kind": ""},
    {"apiVersion": 1, "kind": "Pod"},
)
_values(
    "the metadata of an embedded object is valid",
    EMBEDDED,
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"a": "b"}, "other": 1}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a/b"}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a b": "c"}}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": "none"}},
)


# Where errors stand


@case("errors at the root name the fields of the object")
def _(api: Api) -> None:
    install(api, definition(api, object_of(spec=SMALL, other=NUMBER) | {"required": ["spec"]}))
    without = {key: value for key, value in widget(api, {}).items() if key != "spec"}
    api.create(resource_of(api), without, dryRun="All")
    api.create(resource_of(api), without | {"spec": "x"}, dryRun="All")
    api.create(resource_of(api), without | {"spec": {}, "other": "x"}, dryRun="All")


@case("alternatives at the root are reported without a field")
def _(api: Api) -> None:
    install(api, definition(api, object_of(spec=SMALL) | {"anyOf": [{"required": ["spec"]}]}))
    without = {key: value for key, value in widget(api, {}).items() if key != "spec"}
    api.create(resource_of(api), without, dryRun="All")


@case("metadata is validated before the schema")
def _(api: Api) -> None:
    install(api, definition(api, object_of(spec=object_of(value=NUMBER))))
    api.create(resource_of(api), widget(api, {"value": "x"}, name="No Name"), dryRun="All")


@case("updates and patches are validated, too")
def _(api: Api) -> None:
    install(api, definition(api, object_of(spec=object_of(value=NUMBER))))
    api.create(resource_of(api), widget(api, {"value": 1}))
    api.update(resource_of(api), "a", widget(api, {"value": "x"}))
    api.patch(resource_of(api), "a", {"spec": {"value": "x"}})
    api.patch(resource_of(api), "a", [{"op": "add", "path": "/spec/value", "value": []}], by="json")
    api.get(resource_of(api), "a")


@case("the status is validated when it is written")
def _(api: Api) -> None:
    schema = object_of(spec=object_of(value=NUMBER), status=object_of(ready=NUMBER) | {"required": ["ready"]})
    install(api, definition(api, schema, version={"subresources": {"status": {}}}))
    api.create(resource_of(api), widget(api, {"value": 1}))
    api.update(resource_of(api), "a/status", widget(api, {"value": "x"}) | {"status": {"ready": 1}})
    api.update(resource_of(api), "a/status", widget(api, {}) | {"status": {"ready": "x"}})
    api.update(resource_of(api), "a/status", widget(api, {}) | {"status": {}})
    api.patch(resource_of(api), "a/status", {"status": {"ready": [1]}})
