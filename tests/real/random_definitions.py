"""Random mutations of valid CustomResourceDefinitions."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

if TYPE_CHECKING:
    from random import Random

Plain: TypeAlias = dict[str, Any]

FOLDER = Path(__file__).parents[1] / "data" / "definitions"
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    "",
    "x",
    "X y",
    ["a", "a"],
    [{}],
    {},
    {"type": "string"},
    {"a": 1},
]
TEXT: Plain = {"type": "string"}
FIELDS: dict[str, list[Any]] = {
    "type": ["string", "integer", "number", "boolean", "array", "object", "", "null", "any"],
    "format": ["int32", "date-time", "colour"],
    "nullable": [True],
    "title": ["x"],
    "description": ["x"],
    "default": ["x", 1, {}, {"unknown": 1}, [], True],
    "enum": [["a"], [1, "x"], [None]],
    "pattern": ["[", "^a$", "(?!a)"],
    "maximum": [1, 1.5],
    "exclusiveMaximum": [True],
    "maxLength": [0, 3],
    "maxItems": [0, 3],
    "maxProperties": [0, 3],
    "multipleOf": [2, 0],
    "uniqueItems": [True, False],
    "required": [["a"], [], ["spec"]],
    "items": [TEXT, {}, [TEXT], []],
    "properties": [{"a": TEXT}, {"a": {}}, {"metadata": TEXT}],
    "additionalProperties": [True, False, TEXT, {}],
    "patternProperties": [{"a": TEXT}],
    "definitions": [{"a": TEXT}],
    "dependencies": [{"a": ["b"]}, {"a": TEXT}],
    "additionalItems": [True, TEXT],
    "allOf": [[{"minLength": 1}], [TEXT], [{"properties": {"zz": {"minLength": 1}}}]],
    "anyOf": [[{"type": "integer"}, TEXT], [{}], [{"default": 1}], [{"nullable": True}]],
    "oneOf": [[{"required": ["a"]}], [{"not": {"x-kubernetes-int-or-string": True}}]],
    "not": [{"minLength": 5}, {"items": {"description": "x"}}, {"additionalProperties": TEXT}],
    "$ref": ["#/a"],
    "$schema": ["x"],
    "id": ["x", ""],
    "x-kubernetes-preserve-unknown-fields": [True, False],
    "x-kubernetes-embedded-resource": [True, False],
    "x-kubernetes-int-or-string": [True, False],
    "x-kubernetes-list-type": ["atomic", "set", "map", "bag", ""],
    "x-kubernetes-list-map-keys": [["name"], ["type"], ["a", "a"], []],
    "x-kubernetes-map-type": ["atomic", "granular", "x"],
    "x-kubernetes-validations": [
        [{"rule": "self == self"}],
        [{"rule": "self =="}],
        [{"rule": "true", "fieldPath": ".name"}],
        [{"rule": "true", "message": " ", "reason": "x"}],
        [{"rule": ""}],
        [{"rule": "oldSelf == self", "optionalOldSelf": True}],
        [{"rule": "true", "messageExpression": "1"}],
    ],
}
"""Fields of a schema, with values that are right in some places."""
SPEC: dict[str, list[Any]] = {
    "group": ["example", "x.k8s.io", "UP.example.com", ""],
    "scope": ["Cluster", "Global", ""],
    "preserveUnknownFields": [True, False],
    "conversion": [
        {"strategy": "Webhook"},
        {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}},
        {
            "strategy": "Webhook",
            "webhook": {"clientConfig": {"url": "http://a"}, "conversionReviewVersions": ["v2"]},
        },
        {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "", "namespace": "x"}}}},
    ],
}
NAMES: dict[str, list[Any]] = {
    "plural": ["others", "UP", ""],
    "singular": ["UP", ""],
    "kind": ["lower", "With Space", "9", ""],
    "listKind": ["Same", "a b"],
    "shortNames": [["UP"], ["a", "a"], [""]],
    "categories": [["All"], ["all"]],
}
VERSION: dict[str, list[Any]] = {
    "name": ["v1", "V1", "", "v9"],
    "served": [False],
    "storage": [True, False],
    "deprecated": [True, False],
    "deprecationWarning": ["old", "", "a\nb"],
    "schema": [{}, {"openAPIV3Schema": {"type": "object"}}],
    "subresources": [
        {},
        {"status": {}},
        {"scale": {}},
        {"scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": "status"}},
    ],
    "additionalPrinterColumns": [[], [{"name": "a", "type": "x", "jsonPath": "a"}]],
    "selectableFields": [[], [{"jsonPath": ".spec"}], [{"jsonPath": ".a"}], [{"jsonPath": ""}]],
}


class DefinitionMutator:
    """Makes definitions that are valid but for a few random changes."""

    def __init__(self, random: Random) -> None:
        self._random = random
        files = sorted(FOLDER.glob("*.yaml"))
        self._valid: list[Plain] = [yaml.safe_load(file.read_text())["definition"] for file in files]

    def definition(self) -> Plain:
        """Return the next definition."""
        # A copy through text has no parts that stand in two places.
        found: Plain = _unshared(copy.deepcopy(self._random.choice(self._valid)))
        for _ in range(self._random.choice((1, 1, 1, 2, 3))):
            self._mutate(found)
        # No versions count as unset, as all that is empty does.
        if isinstance(found.get("spec"), dict) and found["spec"].get("versions") == []:
            del found["spec"]["versions"]
        return found

    def _mutate(self, definition: Plain) -> None:
        random = self._random
        spec = definition.get("spec")
        versions = spec.get("versions") if isinstance(spec, dict) else None
        version = random.choice(versions) if isinstance(versions, list) and versions else None
        kind = random.random()
        if kind < 0.6 and isinstance(version, dict):
            validation = version.get("schema")
            schemas = _schemas(validation.get("openAPIV3Schema")) if isinstance(validation, dict) else []
            if schemas:
                self._set(random.choice(schemas), FIELDS)
        elif kind < 0.7 and isinstance(version, dict):
            self._set(version, VERSION)
        elif kind < 0.75 and isinstance(spec, dict):
            self._set(spec, SPEC)
        elif kind < 0.8 and isinstance(spec, dict) and isinstance(spec.get("names"), dict):
            self._set(spec["names"], NAMES)
        elif kind < 0.83 and isinstance(versions, list) and version is not None:
            versions.append(copy.deepcopy(version) | {"name": random.choice(("v1", "v7"))})
        else:
            self._break(definition)

    def _set(self, owner: Plain, fields: dict[str, list[Any]]) -> None:
        name = self._random.choice(sorted(fields))
        if name in owner and self._random.random() < 0.3:
            del owner[name]
        else:
            owner[name] = copy.deepcopy(self._random.choice(fields[name]))

    def _break(self, definition: Plain) -> None:
        """Drop or replace any value below the spec."""
        places = list(_places(definition.get("spec", {})))
        if not places:
            return
        owner, key = self._random.choice(places)
        if self._random.random() < 0.4:
            del owner[key]
        else:
            owner[key] = copy.deepcopy(self._random.choice(VALUES))


def _unshared(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unshared(each) for key, each in value.items()}
    return [_unshared(each) for each in value] if isinstance(value, list) else value


def _schemas(schema: Any) -> list[Plain]:
    if not isinstance(schema, dict):
        return []
    found: list[Plain] = [schema]
    for name in ("items", "additionalProperties", "not"):
        found += _schemas(schema.get(name))
    properties = schema.get("properties")
    for each in properties.values() if isinstance(properties, dict) else ():
        found += _schemas(each)
    for name in ("allOf", "anyOf", "oneOf"):
        listed = schema.get(name)
        for each in listed if isinstance(listed, list) else ():
            found += _schemas(each)
    return found


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    keys: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in keys:
        found.append((value, key))
        found += _places(each)
    return found
