"""Random definitions of custom resources: all list and map types, defaults, and parts without a schema."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tests.sequences.kinds import FEW, METADATA, STATE, TEXT, TIME, YES_OR_NO, Kind
from tests.sequences.player import NAMESPACE
from tests.sequences.shapes import AnyOf, Dictionary, Items, Plain, Scalar, Shape, Struct

if TYPE_CHECKING:
    from random import Random

LIST_TYPE, MAP_TYPE, LIST_KEYS = (f"x-kubernetes-{each}" for each in ("list-type", "map-type", "list-map-keys"))
PRESERVE, INT_OR_STRING = (f"x-kubernetes-{each}" for each in ("preserve-unknown-fields", "int-or-string"))
SHARED_GROUP = "sequences.example.com"


@dataclass(frozen=True)
class Typed:
    """A schema, and what its values look like."""

    schema: Plain
    shape: Shape


@dataclass(frozen=True)
class CustomKind:
    """A definition and its versions.

    Attributes:
        definition: The definition.
        versions: The kinds that it makes available.
    """

    definition: Plain
    versions: list[Kind]


def _text() -> Typed:
    return Typed({"type": "string"}, TEXT)


def _number() -> Typed:
    return Typed({"type": "integer"}, FEW)


def _scalar(random: Random) -> Typed:
    made = random.choice(
        (
            _text(),
            _text(),
            _number(),
            Typed({"type": "boolean"}, YES_OR_NO),
            Typed({INT_OR_STRING: True}, AnyOf((FEW, TEXT))),
            Typed({"type": "number"}, Scalar((1, 1.5, 2.0, 0))),
        )
    )
    if random.random() < 0.1:
        return replace(made, schema={**made.schema, "default": made.shape.make(random)})
    if random.random() < 0.1:
        return Typed({**made.schema, "nullable": True}, AnyOf((made.shape, Scalar((None,)))))
    return made


_ANYTHING = Dictionary(
    ("a", "b", "c"),
    AnyOf(
        (
            TEXT,
            FEW,
            Dictionary(("d", "e"), TEXT),
            Items(AnyOf((TEXT, Dictionary(("name",), TEXT)))),
            Scalar((None,)),
        )
    ),
)


def _anything(random: Random) -> Typed:
    schema = random.choice(({PRESERVE: True}, {PRESERVE: True, "type": "object"}))
    if random.random() < 0.3:
        known = {"a": _scalar(random)}
        schema = {
            **schema,
            "type": "object",
            "properties": {name: each.schema for name, each in known.items()},
        }
        return Typed(schema, Struct({"a": known["a"].shape, "b": _ANYTHING, "c": TEXT}))
    return Typed(schema, _ANYTHING)


def _set(random: Random) -> Typed:
    item = random.choice((_text(), _number()))
    return Typed({"type": "array", LIST_TYPE: "set", "items": item.schema}, Items(item.shape))


def _keyed_list(random: Random, depth: int) -> Typed:
    keys = {"name": _text()}
    if random.random() < 0.4:
        keys["port"] = random.choice((_number(), Typed({"type": "integer", "default": 1}, FEW)))
    if random.random() < 0.4:
        keys["protocol"] = Typed({"type": "string", "default": "a"}, TEXT)
    fields = {**_fields(random, depth - 1), **keys}
    required = [name for name, each in keys.items() if "default" not in each.schema]
    schema = {
        "type": "array",
        LIST_TYPE: "map",
        LIST_KEYS: list(keys),
        "items": {
            "type": "object",
            "required": required,
            "properties": {name: each.schema for name, each in fields.items()},
        },
    }
    shape = Struct({name: each.shape for name, each in fields.items()}, required)
    return Typed(schema, Items(shape, list(keys)))


def _atomic_list(random: Random, depth: int) -> Typed:
    item = _any_type(random, depth - 1)
    schema: Plain = {"type": "array", "items": item.schema}
    if random.random() < 0.6:
        schema[LIST_TYPE] = "atomic"
    return Typed(schema, Items(item.shape, repeats=0.5))


def _struct(random: Random, depth: int) -> Typed:
    fields = _fields(random, depth - 1)
    schema: Plain = {"type": "object", "properties": {name: each.schema for name, each in fields.items()}}
    if random.random() < 0.5:
        schema[MAP_TYPE] = random.choice(("atomic", "granular"))
    if random.random() < 0.1:
        schema["nullable"] = True
    return Typed(schema, Struct({name: each.shape for name, each in fields.items()}, often=0.5))


def _map(random: Random, depth: int) -> Typed:
    value = _any_type(random, depth - 1)
    schema: Plain = {"type": "object", "additionalProperties": value.schema}
    if random.random() < 0.5:
        schema[MAP_TYPE] = random.choice(("atomic", "granular"))
    return Typed(schema, Dictionary(("a", "b", "c"), value.shape))


def _any_type(random: Random, depth: int) -> Typed:
    if depth <= 0:
        return _scalar(random)
    match random.choice(("scalar", "anything", "set", "list", "list", "atomic", "struct", "struct", "map")):
        case "anything":
            return _anything(random)
        case "set":
            return _set(random)
        case "list":
            return _keyed_list(random, depth)
        case "atomic":
            return _atomic_list(random, depth)
        case "struct":
            return _struct(random, depth)
        case "map":
            return _map(random, depth)
        case _:
            return _scalar(random)


def _fields(random: Random, depth: int) -> dict[str, Typed]:
    return {name: _any_type(random, depth) for name in random.sample("stuvwxyz", random.choice((1, 2, 3)))}


def _spec(random: Random) -> Typed:
    """A spec with something of every kind, so that most requests reach something worth comparing."""
    fields = {
        "replicas": _number(),
        "keyed": _keyed_list(random, 2),
        "values": _set(random),
        "struct": _struct(random, 3),
        "map": _map(random, 2),
        "anything": _anything(random),
        "items": _atomic_list(random, 2),
        "other": _any_type(random, 3),
        "another": _any_type(random, 3),
    }
    schema = {"type": "object", "properties": {name: each.schema for name, each in fields.items()}}
    return Typed(schema, Struct({name: each.shape for name, each in fields.items()}, often=0.35))


_CONDITIONS = Typed(
    {
        "type": "array",
        LIST_TYPE: "map",
        LIST_KEYS: ["type"],
        "items": {
            "type": "object",
            "required": ["type"],
            "properties": {name: {"type": "string"} for name in ("type", "status", "lastTransitionTime")},
        },
    },
    Items(
        Struct({"type": Scalar(("Ready", "Synced")), "status": STATE, "lastTransitionTime": TIME}, ("type",)),
        ("type",),
    ),
)
_STATUS = Struct({"replicas": FEW, "conditions": _CONDITIONS.shape, "text": TEXT}, often=0.5)
_STATUS_SCHEMA = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "selector": {"type": "string"},
        "conditions": _CONDITIONS.schema,
        "text": {"type": "string"},
    },
}


def custom_kind(random: Random, *, group: str, singular: str, marker: int = 1) -> CustomKind:
    """A definition with one or two versions.

    Args:
        random: What it is made from.
        group: Its API group.
        singular: The kind in lower case.
        marker: A number that tells by its default when these schemas are served.
    """
    names = random.choice((["v1"], ["v1"], ["v1", "v1beta1"]))
    has_status, has_scale = random.random() < 0.7, random.random() < 0.5
    specs = {names[0]: _spec(random)}
    for name in names[1:]:
        specs[name] = random.choice((specs[names[0]], _spec(random)))
    subresources: Plain = {"status": {}} if has_status else {}
    if has_scale:
        subresources["scale"] = {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
        }
    plural, kind = f"{singular}s", singular.capitalize()
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": singular, "kind": kind},
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": name == names[0],
                    "schema": {"openAPIV3Schema": _root(spec.schema, marker)},
                    "subresources": subresources,
                }
                for name, spec in specs.items()
            ],
        },
    }
    versions = [
        Kind(
            f"/apis/{group}/{name}/namespaces/{NAMESPACE}/{plural}",
            f"{group}/{name}",
            kind,
            Struct({"metadata": METADATA, "spec": spec.shape, "marker": FEW}, ("spec",), often=0.15),
            {},
            _STATUS if has_status else None,
            has_scale,
            has_strategic_patch=False,
        )
        for name, spec in specs.items()
    ]
    return CustomKind(definition, versions)


def _root(spec: Plain, marker: int) -> Plain:
    properties = {"marker": {"type": "integer", "default": marker}, "spec": spec, "status": _STATUS_SCHEMA}
    return {"type": "object", "properties": properties}


def retyped(random: Random, value: Any) -> Any:
    """A schema some of whose lists and maps are atomic instead of granular, or granular instead of atomic."""
    if isinstance(value, list):
        return [retyped(random, each) for each in value]
    if not isinstance(value, dict):
        return value
    changed = {name: retyped(random, each) for name, each in value.items()}
    if changed.get("type") == "object" and random.random() < 0.4:
        changed[MAP_TYPE] = "granular" if changed.get(MAP_TYPE) == "atomic" else "atomic"
    if changed.get(LIST_TYPE) in {"set", "map"} and random.random() < 0.4:
        changed.pop(LIST_KEYS, None)
        changed[LIST_TYPE] = "atomic"
    elif changed.get("type") == "array" and random.random() < 0.4:
        changed |= _granular(changed["items"])
    return changed


def _granular(items: Plain) -> Plain:
    if items.get("type") in {"string", "integer"} and "default" not in items and "nullable" not in items:
        return {LIST_TYPE: "set"}
    if items.get("type") == "object" and (keys := items.get("required")):
        return {LIST_TYPE: "map", LIST_KEYS: keys}
    return {LIST_TYPE: "atomic"}
