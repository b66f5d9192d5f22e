"""Random structural schemas, and random values for them: valid, broken, with unknown fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

Plain = dict[str, Any]

FORMATS: Final = [
    "byte",
    "date",
    "date-time",
    "datetime",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uri",
    "uuid",
    "uuid4",
    "hexcolor",
    "isbn",
    "password",
    "k8s-short-name",
    "k8s-long-name",
    "int32",
    "int64",
    "float",
    "double",
    "unknown-format",
    "binary",
    "ssn",
    "creditcard",
    "bsonobjectid",
]
PATTERNS: Final = ("^[a-z]+$", "a", "^(ab?c|[0-9]{2,3})$", r"\d", "(?i)^x", "^$|b", r"^[^\s]*$", "^(a+)+$")
STRINGS: Final = (
    *(
        "",
        "a",
        "b",
        "abc",
        "ABC",
        "12",
        "a b",
        "é",
        "x" * 12,
        "<&>",
        'q"\\',
        "my-name",
        "my.name.x",
        "/path",
        "http://a/b",
    ),
    *(
        "2024-02-29",
        "2024-02-30",
        "2024-01-01T00:00:00Z",
        "1h",
        "5 days",
        "10.0.0.1",
        "::1",
        "10.0.0.0/8",
        "aGk=",
    ),
    *("a@b.c", "#fff", "0321751043", "01:23:45:67:89:ab", "507f1f77bcf86cd799439011", "123-45-6789"),
    "a987fbc9-4bed-4078-8f07-9141ba07c9f3",
)
NUMBERS: Final = (
    0,
    1,
    2,
    3,
    5,
    10,
    -1,
    -7,
    100,
    2**31,
    -(2**31) - 1,
    2**53,
    0.5,
    1.5,
    2.0,
    1e-7,
    1e30,
    -0.25,
    3.0000000001,
    4e38,
)
LARGE_NUMBERS: Final = (2**63, -(2**70))
"""Integers of more than 64 bits, in values only: schemas have none."""
KEYS: Final = ("a", "b", "c", "d", "kind", "k-1", "x.y")


class Generator:
    """Makes schemas and values from a seeded source."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    # Schemas

    def schema(self, depth: int = 3) -> Plain:
        """Return a structural schema."""
        makers: list[Callable[[int], Plain]] = [
            self._string,
            self._string,
            self._number,
            self._number,
            self._boolean,
            self._int_or_string,
        ]
        if depth:
            makers += [
                self._object,
                self._object,
                self._object,
                self._map,
                self._list,
                self._list,
                self._unknown,
            ]
            makers += [self._embedded, self._set, self._keyed_list]
        schema = self._random.choice(makers)(depth)
        if self._chance(0.15):
            schema["nullable"] = True
        if self._chance(0.25):
            self._add_alternatives(schema, depth)
        return schema

    def _string(self, _depth: int) -> Plain:
        schema: Plain = {"type": "string"}
        if self._chance(0.25):
            schema["maxLength"] = self._random.randint(0, 6)
        if self._chance(0.25):
            schema["minLength"] = self._random.randint(0, 4)
        if self._chance(0.25):
            schema["pattern"] = self._random.choice(PATTERNS)
        if self._chance(0.35):
            schema["format"] = self._random.choice(FORMATS)
        if self._chance(0.2):
            schema["enum"] = self._random.sample(STRINGS, self._random.randint(1, 4))
        return schema

    def _number(self, _depth: int) -> Plain:
        schema: Plain = {"type": self._random.choice(["integer", "number"])}
        schema |= self._limits()
        if self._chance(0.3):
            schema["format"] = self._random.choice(["int32", "int64", "float", "double", "date", "other"])
        if self._chance(0.15):
            schema["enum"] = self._random.sample(NUMBERS, 3)
        return schema

    def _limits(self) -> Plain:
        limits: Plain = {}
        if self._chance(0.3):
            limits["minimum"] = self._random.choice([0, 1, -2, 0.5, 3])
            if self._chance(0.3):
                limits["exclusiveMinimum"] = True
        if self._chance(0.3):
            limits["maximum"] = self._random.choice([0, 2, 5, 2.5, 10, 1e20])
            if self._chance(0.3):
                limits["exclusiveMaximum"] = True
        if self._chance(0.2):
            limits["multipleOf"] = self._random.choice([1, 2, 5, 0.5, 2.5, 0.1])
        return limits

    def _boolean(self, _depth: int) -> Plain:
        return {"type": "boolean", **({"enum": [True]} if self._chance(0.1) else {})}

    def _int_or_string(self, _depth: int) -> Plain:
        schema: Plain = {"x-kubernetes-int-or-string": True}
        if self._chance(0.5):
            schema["anyOf"] = [{"type": "integer"}, {"type": "string"}]
        if self._chance(0.2):
            schema["pattern"] = self._random.choice(PATTERNS)
        if self._chance(0.2):
            schema["maximum"] = 5
        if self._chance(0.1):
            schema["enum"] = ["a", 1, "12"]
        return schema

    def _object(self, depth: int) -> Plain:
        names = self._random.sample(KEYS, self._random.randint(0, 4))
        properties = {name: self.schema(depth - 1) for name in names}
        schema: Plain = {"type": "object", "properties": properties}
        if names and self._chance(0.4):
            schema["required"] = self._random.sample(names, self._random.randint(1, len(names)))
        if self._chance(0.1):
            schema["required"] = [*schema.get("required", ()), "missing"]
        schema |= self._property_counts()
        if self._chance(0.15):
            schema["x-kubernetes-preserve-unknown-fields"] = True
        if self._chance(0.15):
            schema["x-kubernetes-map-type"] = self._random.choice(["atomic", "granular"])
        return schema

    def _property_counts(self) -> Plain:
        counts: Plain = {}
        if self._chance(0.1):
            counts["minProperties"] = self._random.randint(0, 3)
        if self._chance(0.1):
            counts["maxProperties"] = self._random.randint(0, 4)
        return counts

    def _map(self, depth: int) -> Plain:
        values: Any = True if self._chance(0.1) else self.schema(depth - 1)
        return {"type": "object", "additionalProperties": values, **self._property_counts()}

    def _list(self, depth: int) -> Plain:
        schema: Plain = {"type": "array", "items": self.schema(depth - 1)}
        if self._chance(0.2):
            schema["minItems"] = self._random.randint(0, 3)
        if self._chance(0.2):
            schema["maxItems"] = self._random.randint(0, 3)
        if self._chance(0.1):
            schema["x-kubernetes-list-type"] = "atomic"
        return schema

    def _set(self, depth: int) -> Plain:
        items = self._random.choice([self._string, self._number])(depth)
        return {"type": "array", "x-kubernetes-list-type": "set", "items": items}

    def _keyed_list(self, depth: int) -> Plain:
        keys = self._random.choice([["a"], ["a", "b"]])
        properties: Plain = {key: {"type": self._random.choice(["string", "integer", "boolean"])} for key in keys}
        for key in keys:
            if self._chance(0.3):
                properties[key]["default"] = {"string": "x", "integer": 1, "boolean": True}[properties[key]["type"]]
        properties["c"] = self.schema(depth - 1)
        required = [key for key in keys if "default" not in properties[key]]
        items = {"type": "object", "properties": properties, **({"required": required} if required else {})}
        return {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": keys,
            "items": items,
        }

    def _unknown(self, _depth: int) -> Plain:
        if self._chance(0.3):
            return {"x-kubernetes-preserve-unknown-fields": True}
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **self._property_counts()}

    def _embedded(self, depth: int) -> Plain:
        schema: Plain = {"type": "object", "x-kubernetes-embedded-resource": True}
        if self._chance(0.5):
            schema["x-kubernetes-preserve-unknown-fields"] = True
        else:
            schema["properties"] = {"spec": self.schema(depth - 1)}
        return schema

    def _add_alternatives(self, schema: Plain, depth: int) -> None:
        which = self._random.choice(["allOf", "anyOf", "oneOf", "not"])
        if which == "not":
            schema["not"] = self._constraint(schema, depth)
        elif which not in schema:
            schema[which] = [self._constraint(schema, depth) for _ in range(self._random.randint(1, 3))]

    def _constraint(self, schema: Plain, depth: int) -> Plain:
        """Return a schema of values only, without types, for a part of a schema."""
        found = self._own_constraint(schema, depth)
        if depth and self._chance(0.15):
            which = self._random.choice(["allOf", "anyOf", "oneOf"])
            found[which] = [self._constraint(schema, depth - 1) for _ in range(self._random.randint(1, 3))]
        if depth and self._chance(0.1):
            found["not"] = self._constraint(schema, depth - 1)
        return found

    def _own_constraint(self, schema: Plain, depth: int) -> Plain:
        kind = schema.get("type")
        if kind == "string":
            found = self._string(0)
            del found["type"]
            return found
        if kind in {"integer", "number"}:
            return self._limits() or {"minimum": 1}
        if kind == "array" and depth:
            listed: Plain = {"minItems": self._random.randint(0, 2)}
            if self._chance(0.4):
                listed["items"] = self._constraint(schema["items"], depth - 1)
            return listed
        if kind == "object" and schema.get("properties") and depth:
            names = self._random.sample(sorted(schema["properties"]), 1)
            fields: Plain = {"required": names} if self._chance(0.7) else self._property_counts()
            if self._chance(0.6):
                fields["properties"] = {names[0]: self._constraint(schema["properties"][names[0]], depth - 1)}
            return fields
        return {"enum": [self.value(schema)]} if self._chance(0.3) else {}

    def add_defaults(self, schema: Plain, is_valid: Any) -> None:
        """Give some fields of a schema defaults that are valid."""
        for name, field in schema.get("properties", {}).items():
            self.add_defaults(field, is_valid)
            if "default" not in field and self._chance(0.2) and name != "kind":
                candidate = self.value(field, broken=0.0)
                if is_valid(field, candidate):
                    field["default"] = candidate
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                self.add_defaults(schema[key], is_valid)

    # Values

    def value(self, schema: Plain, broken: float = 0.05) -> Any:
        """Return a value for a schema; `broken` is the probability that a part of it is wrong."""
        if self._chance(broken):
            return self._any_value()
        if schema.get("nullable") and self._chance(0.2):
            return None
        if "enum" in schema and self._chance(0.7):
            return self._random.choice(schema["enum"])
        if schema.get("x-kubernetes-int-or-string"):
            return self._random.choice([1, 3, 7, "a", "12", "abc", 65])
        makers = {"string": self._string_value, "integer": self._integer_value, "number": self._number_value}
        if (maker := makers.get(schema.get("type", ""))) is not None:
            return maker()
        return self._compound_value(schema, broken)

    def _string_value(self) -> str:
        return self._random.choice(STRINGS)

    def _integer_value(self) -> int:
        return self._random.choice([number for number in NUMBERS if isinstance(number, int)])

    def _number_value(self) -> float:
        return self._random.choice(NUMBERS)

    def sent_value(self, schema: Plain, broken: float) -> Any:
        """Return a value to send: such a one as `value` returns, or a large number."""
        return self._random.choice(LARGE_NUMBERS) if self._chance(0.01) else self.value(schema, broken)

    def _compound_value(self, schema: Plain, broken: float) -> Any:
        match schema.get("type"):
            case "boolean":
                return self._chance(0.5)
            case "array":
                count = self._random.choice([0, 1, 1, 2, 3])
                return [self.value(schema["items"], broken) for _ in range(count)]
            case "object":
                return self._object_value(schema, broken)
            case _:
                return self._any_value()

    def _object_value(self, schema: Plain, broken: float) -> Plain:
        value: Plain = {}
        for name, field in schema.get("properties", {}).items():
            if self._chance(0.9 if name in schema.get("required", ()) else 0.7):
                value[name] = self.value(field, broken)
        values = schema.get("additionalProperties")
        if values is not None:
            for key in self._random.sample(KEYS, self._random.randint(0, 3)):
                value[key] = self.value(values, broken) if isinstance(values, dict) else self._any_value()
        if schema.get("x-kubernetes-preserve-unknown-fields") or self._chance(broken * 4):
            value[self._random.choice(["unknown", "other", "a"])] = self._any_value()
        if schema.get("x-kubernetes-embedded-resource"):
            value |= self._embedded_fields(broken)
        items = list(value.items())
        self._random.shuffle(items)
        return dict(items)

    def _embedded_fields(self, broken: float) -> Plain:
        fields: Plain = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {"a": "b"}}}
        if self._chance(broken * 4):
            del fields[self._random.choice(list(fields))]
        if self._chance(broken * 4):
            fields["kind"] = self._random.choice(["", "x_y", "9"])
        if self._chance(broken * 2):
            fields["metadata"] = {
                "labels": self._any_value(1),
                "kind": "x",
                "other": 1,
                "annotations": {"a": "b"},
            }
        if self._chance(broken * 4):
            fields["apiVersion"] = self._random.choice(["", "a/b/c", "apps/v1"])
        return fields

    def _any_value(self, depth: int = 2) -> Any:
        scalars: list[Callable[[], Any]] = [
            self._string_value,
            self._number_value,
            lambda: self._chance(0.5),
            lambda: None,
        ]
        if not depth or self._chance(0.6):
            return self._random.choice(scalars)()
        if self._chance(0.5):
            return [self._any_value(depth - 1) for _ in range(self._random.randint(0, 2))]
        keys = self._random.sample(KEYS, self._random.randint(0, 2))
        return {key: self._any_value(depth - 1) for key in keys}
