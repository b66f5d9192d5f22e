"""Data that fits a schema, with every property filled in: from the schema alone, not from our types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from hypothesis import strategies as st
from tests.unit.codegen.kubernetes import EXTENSIONS, META, target_of

Schema: TypeAlias = "Mapping[str, Any]"

DEPTH = 6
"""How deep to fill; types that hold themselves have no end."""

FREE_FORM = {"any": [1, None, "text", {"deep": True}]}
VALUES: dict[str, Callable[[int], Any]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": lambda number: ["100m", "1Gi", "0"][number % 3],
    "io.k8s.apimachinery.pkg.runtime.RawExtension": lambda _: {"kind": "Any", **FREE_FORM},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": lambda number: [80, "http", "25%", 0][number % 4],
    f"{META}FieldsV1": lambda _: {"f:metadata": {"f:labels": {".": {}}}},
    f"{META}MicroTime": lambda _: "2026-01-02T03:04:05.123456Z",
    f"{META}Time": lambda _: "2026-01-02T03:04:05Z",
    f"{EXTENSIONS}JSON": lambda _: FREE_FORM,
    f"{EXTENSIONS}JSONSchemaPropsOrArray": lambda number: [{"type": "string"}, [{}]][number % 2],
    f"{EXTENSIONS}JSONSchemaPropsOrBool": lambda number: [{"type": "string"}, True, False][number % 3],
    f"{EXTENSIONS}JSONSchemaPropsOrStringArray": lambda number: [{"type": "string"}, ["a"]][number % 2],
}


@dataclass
class Filler:
    """Fills schemas; each value differs from the one before, so that none can pass for another.

    Attributes:
        schemas: What references lead to.
        zeroes: Fill in zeroes, empty lists and empty maps: what was said must be kept, however empty.
        count: How many scalars were filled in.
    """

    schemas: Schema = field(default_factory=dict[str, Any])
    zeroes: bool = False
    count: int = 0

    def fill(self, schema: Schema, depth: int = DEPTH) -> Any:
        """A value that fits the schema."""
        if target := target_of(cast("dict[str, Any]", schema)):
            return self._named(target, depth)
        if schema.get("x-kubernetes-int-or-string"):
            return ["http", 80][self._next() % 2]
        match schema.get("type"):
            case "array":
                return [self.fill(schema.get("items", {}), depth - 1) for _ in range(self._length(depth))]
            case "object":
                return self._object(schema, depth)
            case "string":
                return self._text(str(schema.get("format")))
            case "integer" | "number" | "boolean" as scalar:
                return self._number(scalar)
            case _:
                return FREE_FORM

    def _named(self, target: str, depth: int) -> Any:
        if target in VALUES:
            return VALUES[target](self._next())
        if self.zeroes and target == f"{META}ObjectMeta":
            return {"labels": {}}  # an empty name or version in metadata is none
        return self.fill(self.schemas[target], depth)

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        if depth <= 0:
            return {}
        properties: Schema = schema.get("properties", {})
        filled = {wire: self.fill(inner, depth - 1) for wire, inner in properties.items()}
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping):
            filled |= {f"key-{each}": self.fill(values, depth - 1) for each in range(self._length(depth))}
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            filled |= {"unheardOf": FREE_FORM}
        for gvk in schema.get("x-kubernetes-group-version-kind", []):
            filled |= {"apiVersion": f"{gvk['group']}/{gvk['version']}".lstrip("/"), "kind": gvk["kind"]}
        return filled

    def _length(self, depth: int) -> int:
        return 0 if self.zeroes or depth <= 0 else 2

    def _number(self, type_: str) -> float | bool:
        number = 0 if self.zeroes else self._next()
        return {"integer": number, "number": number / 2, "boolean": number % 2 == 1}[type_]

    def _text(self, format_: str) -> str:
        number = self._next()
        match format_:
            case "byte":
                return "" if self.zeroes else "aGVsbG8="
            case "date-time":
                return f"2026-01-02T03:04:{number % 60:02}Z"
            case _:
                return "" if self.zeroes else f"text {number}"

    def _next(self) -> int:
        self.count += 1
        return self.count


def data_for(schema: Schema) -> st.SearchStrategy[Any]:
    """Random data for a schema without references: any of its properties, or none."""
    match schema.get("type"):
        case _ if schema.get("x-kubernetes-int-or-string"):
            strategy: st.SearchStrategy[Any] = st.integers(0, 2**31) | st.text(max_size=5)
        case "array":
            strategy = st.lists(data_for(schema.get("items", {})), max_size=3)
        case "object":
            strategy = _objects(schema)
        case "string" if schema.get("format") == "byte":
            strategy = st.sampled_from(["", "aGVsbG8=", "AA=="])
        case "string" if schema.get("format") == "date-time":
            strategy = st.sampled_from(["2026-01-02T03:04:05Z", "1970-01-01T00:00:00Z"])
        case "string":
            strategy = st.text(max_size=5)
        case "integer":
            strategy = st.integers(-(2**53), 2**53)
        case "number":
            strategy = st.floats(allow_nan=False, allow_infinity=False)
        case "boolean":
            strategy = st.booleans()
        case _:
            strategy = st.just(FREE_FORM) | st.integers() | st.text(max_size=5)
    return strategy


def _objects(schema: Schema) -> st.SearchStrategy[dict[str, Any]]:
    properties: Schema = schema.get("properties", {})
    known = st.fixed_dictionaries({}, optional={wire: data_for(each) for wire, each in properties.items()})
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        return st.dictionaries(st.text(max_size=5), data_for(cast("Schema", values)), max_size=3)
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        unknown = st.dictionaries(st.sampled_from(["unheardOf", "newer"]), st.just(FREE_FORM))
        return st.builds(lambda one, other: {**one, **other}, known, unknown)
    return known
