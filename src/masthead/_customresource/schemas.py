"""The schema of a class: structural, with all types inlined."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Annotated, Any, Final, Union, cast, get_args, get_origin

from msgspec import UNSET
from msgspec.structs import replace

from masthead._customresource.defaults import MISSING, declared_default, plain_default, schema_default
from masthead._customresource.docstrings import attribute_docs, summary_of
from masthead._customresource.embedded_types import embedded_schema, is_builtin
from masthead._customresource.field_types import constrain, fields_in, scalar_schema
from masthead._meta.apitype import ApiType, rules_of
from masthead._meta.object import Object
from masthead._meta.shape import allows_none, annotations_of
from masthead._meta.v1 import Condition
from masthead._schema.field import as_rules
from masthead._schema.rule_types import escape
from masthead._schema.schema import Rule, Schema
from masthead._schema.well_known import ANYTHING, EMBEDDED
from masthead.errors import CustomResourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.merge import Merge
    from masthead._schema.field import Field

__all__ = ["EVERY_OBJECT_HAS", "schema_of_resource"]

EVERY_OBJECT_HAS: Final = frozenset({"api_version", "kind", "metadata"})
_HEAD: Final[Mapping[str, Schema]] = {
    "apiVersion": Schema(type="string"),
    "kind": Schema(type="string"),
    "metadata": Schema(type="object"),
}
_STATUS: Final = "status"
_SUPPORTED: Final = (
    "str, int, float, bool, bytes, datetime, Quantity, IntOrString, Literal, an Enum, list[...], dict[str, ...], a "
    "Struct, a type of masthead.api, or JSON for anything"
)


def schema_of_resource(cls: type[Object], *, documented: bool = False) -> Schema:
    """Return the schema of a custom resource.

    Args:
        cls: Its class.
        documented: Whether to include descriptions, which may be read from source files.

    Raises:
        CustomResourceError: If the class has no structural schema.
        NameError: If a type is not defined yet.
    """
    made = _Builder(documented=documented).struct(cast("ApiType", cls), cls.__name__, is_root=True)
    return replace(made, properties={**_HEAD, **made.properties})


class _Builder:
    """Builds one schema; tracks the enclosing types, because no type may contain itself."""

    def __init__(self, *, documented: bool) -> None:
        self._around: list[ApiType] = []
        self._documented = documented

    def struct(self, cls: ApiType, path: str, *, is_root: bool = False) -> Schema:
        """Return the schema of a type with fields."""
        # A structural schema has no references, so recursion would be infinite.
        if cls in self._around:
            raise CustomResourceError(
                f"{cls.__name__} contains itself, which no schema of a custom resource can express; use dict[str, JSON]"
                " instead",
                path=path,
            )
        self._around.append(cls)
        try:
            return self._struct(cls, path, is_root=is_root)
        finally:
            self._around.pop()

    def _struct(self, cls: ApiType, path: str, *, is_root: bool) -> Schema:
        hints = annotations_of(cls)
        docs = attribute_docs(cls) if self._documented else {}
        properties: dict[str, Schema] = {}
        required: list[str] = []
        rules: list[Rule] = [*as_rules(cast("tuple[Rule | str, ...]", rules_of(cls)))]
        for attribute, wire in zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True):
            # The server adds apiVersion, kind and metadata to every schema.
            if is_root and attribute in EVERY_OBJECT_HAS:
                continue
            at = f"{path}.{attribute}"
            field = _FieldSchema(self, cls, attribute, wire, hints[attribute], at)
            properties[wire] = field.schema(docs.get(attribute, ""))
            # A new object has no status yet, so the field cannot be required.
            if field.is_required and not (is_root and attribute == _STATUS):
                required.append(wire)
            # A rule on the field itself is not evaluated when the field is removed.
            elif field.is_immutable and not properties[wire].has_default:
                rules.append(_keep_rule(wire, at))
        return Schema(
            type="object",
            description=summary_of(cls) if self._documented else "",
            properties=properties,
            required=tuple(required),
            map_type="atomic" if cast("Any", cls).ATOMIC else None,
            rules=tuple(rules),
        )

    def value(self, annotation: object, path: str) -> Schema:
        """Return the schema of a list's items or a map's values, which may be null."""
        inner, metadata = _unwrap(annotation)
        made = constrain(self.of(inner, path), metadata, path)
        return replace(made, nullable=True) if allows_none(inner) else made

    def of(self, annotation: object, path: str) -> Schema:
        """Return the schema of a type without metadata."""
        # Optional fields have the schema of their value: absence is not null.
        annotation = _without_none(annotation)
        if (scalar := scalar_schema(annotation, path)) is not None:
            return scalar
        # `JSON` is Any for type checkers, and has to allow everything.
        if annotation is Any or annotation is object:
            return ANYTHING
        if isinstance(annotation, ApiType):
            return self._type(annotation, path)
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            return self.value(annotation, path)
        if origin is list:
            return self._list(arguments[0], path)
        if origin is dict:
            return self._map(arguments, path)
        shown = getattr(annotation, "__name__", None) if origin is None else None
        hint = '; use list[...] and Field(list_type="set")' if annotation is set or origin is set else ""
        raise CustomResourceError(f"{shown or annotation} is not a type of a field: use {_SUPPORTED}{hint}", path=path)

    def _type(self, cls: ApiType, path: str) -> Schema:
        if is_builtin(cls):
            return embedded_schema(cls, path)
        return EMBEDDED if issubclass(cast("type", cls), Object) else self.struct(cls, path)

    def _list(self, item: object, path: str) -> Schema:
        made = Schema(type="array", items=self.value(item, f"{path}[]"))
        # Several controllers set conditions of different types, so they merge by type.
        is_conditions = _unwrap(item)[0] is Condition
        return replace(made, list_type="map", list_map_keys=("type",)) if is_conditions else made

    def _map(self, arguments: tuple[object, ...], path: str) -> Schema:
        key, value = arguments
        if _unwrap(key)[0] is not str:
            raise CustomResourceError("the keys of a map are strings: use dict[str, ...]", path=path)
        # Pruning would empty a map whose values have no schema.
        if value is Any or value is object:
            return Schema(type="object", preserve_unknown=True)
        return Schema(type="object", additional_properties=self.value(value, f"{path}[*]"))


class _FieldSchema:
    """Builds the schema of one field."""

    def __init__(self, builder: _Builder, cls: ApiType, attribute: str, wire: str, hint: object, path: str) -> None:
        self._builder = builder
        self._cls = cls
        self._attribute = attribute
        self._wire = wire
        self._path = path
        self._inner, self._metadata = _unwrap(hint)
        self._fields: list[Field] = fields_in(self._metadata)
        self._given = declared_default(cls, attribute)

    @property
    def is_required(self) -> bool:
        """Whether the field has no default, or is declared as required."""
        said = [field.required for field in self._fields if field.required is not None]
        if said:
            # The last declaration wins: the field's own follows that of a shared alias.
            return said[-1]
        return self._given is MISSING and not any(field.default is not UNSET for field in self._fields)

    @property
    def is_immutable(self) -> bool:
        """Whether the field can be neither changed nor removed once it is set."""
        return any(field.immutable for field in self._fields)

    def schema(self, doc: str) -> Schema:
        """Return the schema, with default and documentation."""
        made = self._add_merge_strategy(self._builder.of(self._inner, self._path))
        made = constrain(made, self._metadata, self._path)
        if doc and not any("description" in field.given for field in self._fields):
            made = replace(made, description=doc)
        # An explicit null differs from an unset field only without a default.
        if self._given is MISSING and allows_none(self._inner):
            made = replace(made, nullable=True)
        return replace(made, default=self._default(made))

    def _add_merge_strategy(self, made: Schema) -> Schema:
        """Add the merge strategy of a generated class."""
        merge: Merge | None = cast("Any", self._cls).MERGE.get(self._wire)
        if merge is None:
            return made
        if made.type == "array":
            return replace(made, list_type=merge.list_type, list_map_keys=merge.keys)
        return replace(made, map_type=merge.map_type) if merge.map_type else made

    def _default(self, made: Schema) -> object:
        own = schema_default(self._cls, self._attribute, made, self._path)
        if own is UNSET:  # a generated class has separate defaults
            own = cast("Any", self._cls).DEFAULTS.get(self._wire, UNSET)
        said = [field.default for field in self._fields if field.default is not UNSET]
        if not said:
            return own
        default = plain_default(self._cls, self._attribute, said[-1], self._path)
        # Python would use one default and the server the other.
        if own is not UNSET and own != default:
            raise CustomResourceError(
                f"the class says that the default is {own!r}, and Field says {default!r}; leave one of them out",
                path=self._path,
            )
        return default


def _unwrap(annotation: object) -> tuple[object, tuple[object, ...]]:
    """Split an annotation into its type and its metadata, including those of an optional type."""
    metadata: tuple[object, ...] = ()
    if get_origin(annotation) is Annotated:
        annotation, *rest = get_args(annotation)
        metadata = tuple(rest)
    if get_origin(annotation) in {Union, types.UnionType}:
        members = [arg for arg in get_args(annotation) if arg is not type(None)]
        # The constraints of an optional type apply to its value.
        if len(members) == 1 and get_origin(members[0]) is Annotated:
            inner, *rest = get_args(members[0])
            return Union[inner, None], (*rest, *metadata)  # noqa: UP007 - put together at run time
    return annotation, metadata


def _without_none(annotation: object) -> object:
    if get_origin(annotation) not in {Union, types.UnionType}:
        return annotation
    members = tuple(arg for arg in get_args(annotation) if arg is not type(None))
    if len(members) == 1:
        return members[0]
    # The only union that Kubernetes has: IntOrString.
    return int | str if set(members) == {int, str} else annotation


def _keep_rule(wire: str, path: str) -> Rule:
    name = escape(wire)
    # CEL cannot name some fields, such as those with the names of its keywords.
    if name is None:
        raise CustomResourceError(f"{wire} has no name in rules, so that it cannot be immutable", path=path)
    return Rule(f"!has(oldSelf.{name}) || has(self.{name})", message=f"{wire} is immutable and cannot be removed")
