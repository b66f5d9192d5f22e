"""What clients do to managedFields: remove entries, rename managers, set times back, send what cannot be."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

_FIELDS: tuple[Any, ...] = (
    {"f:data": {"f:a": {}}},
    {"f:metadata": {"f:labels": {"f:app": {}}, "f:annotations": {".": {}, "f:note": {}}}},
    {"f:spec": {"f:replicas": {}, "f:keyed": {".": {}, 'k:{"name":"a"}': {".": {}, "f:name": {}}}}},
    {"f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}}}}},
    {"f:spec": {"f:values": {'v:"a"': {}, "v:1": {}}}},
    {"f:spec": {}},
    {"f:spec": {".": {}}},
    {},
)
_ODD_FIELDS: tuple[Any, ...] = (
    {"spec": {}},
    {"f:spec": 1},
    {"x:spec": {}},
    {"k:{": {}},
    {"v:{": {}},
    {"i:x": {}},
    {"f:spec": {"k:[]": {}}},
    {"f:spec": []},
    [],
    None,
)


def entry(random: Random, api_version: str) -> dict[str, Any]:
    """An entry that a client makes up."""
    return {
        "manager": random.choice(("alice", "bob", "stranger", "")),
        "operation": random.choice(("Apply", "Update")),
        "apiVersion": api_version,
        "time": random.choice(("2020-01-05T00:00:00Z", "2020-01-01T00:00:00Z")),
        "fieldsType": "FieldsV1",
        "fieldsV1": deepcopy(random.choice(_FIELDS)),
    }


def aged(random: Random, entries: list[Any]) -> list[Any]:
    """The entries as if they were made on different days."""
    days = [random.randint(1, 9) for _ in entries]
    return [{**each, "time": f"2020-01-0{day}T00:00:00Z"} for each, day in zip(entries, days, strict=True)]


def tampered(random: Random, entries: list[Any], api_version: str) -> Any:
    """Entries that a client has changed."""
    changed = deepcopy(entries)
    index = random.randrange(len(changed)) if changed else 0
    match random.choice(("reset", "empty", "remove", "rename", "age", "add", "copy", "field", "odd", "odd")):
        case "reset":
            return [{}]
        case "empty":
            return random.choice(([], None))
        case "age":
            return aged(random, changed)
        case "add":
            return [*changed, entry(random, api_version)]
        case "remove" if changed:
            del changed[index]
        case "rename" if changed:
            changed[index]["manager"] = random.choice(("alice", "stranger", ""))
        case "copy" if changed:
            changed.append({**deepcopy(changed[index]), "manager": random.choice(("alice", "stranger"))})
        case "field" if changed:
            changed[index]["fieldsV1"] = deepcopy(random.choice(_FIELDS))
        case "odd" if changed:
            _make_odd(random, changed[index])
    return changed


def _make_odd(random: Random, changed: dict[str, Any]) -> None:
    name, value = random.choice(
        (
            ("operation", random.choice(("", "Odd", "apply"))),
            ("fieldsType", random.choice(("", "FieldsV2"))),
            ("apiVersion", random.choice(("", "v9", "other.example.com/v1", "a/b/c"))),
            ("subresource", random.choice(("status", "scale", "odd"))),
            ("manager", random.choice(("m" * 128, "m" * 129, "a\tb", "ü", 7))),
            ("time", random.choice((None, "", "yesterday", "2020-01-01T00:00:00.5Z"))),
            ("fieldsV1", deepcopy(random.choice(_ODD_FIELDS))),
            ("fieldsV1", deepcopy(random.choice(_ODD_FIELDS))),
        )
    )
    changed[name] = value
