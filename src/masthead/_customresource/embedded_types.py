"""Schemas of Kubernetes' types within a custom resource: structural and without references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from masthead._meta import conditions
from masthead._schema.schema import Schema
from masthead._schema.well_known import ANYTHING, INT_OR_STRING, QUANTITY, TIME
from masthead.errors import CustomResourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.apitype import ApiType

__all__ = ["embedded_schema", "is_builtin"]

_MACHINERY: Final = "io.k8s.apimachinery.pkg."
_META: Final = f"{_MACHINERY}apis.meta.v1."
_MAP_OF_TEXT: Final = Schema(type="object", additional_properties=Schema(type="string"))
_VALUES: Final[Mapping[str, Schema]] = {
    f"{_MACHINERY}api.resource.Quantity": QUANTITY,
    f"{_MACHINERY}util.intstr.IntOrString": INT_OR_STRING,
    f"{_MACHINERY}runtime.RawExtension": Schema(type="object", preserve_unknown=True),
    f"{_META}FieldsV1": Schema(type="object", preserve_unknown=True),
    f"{_META}MicroTime": TIME,
    f"{_META}Time": TIME,
    # Fields that users may set in the metadata of a template; the server owns the others.
    f"{_META}ObjectMeta": Schema(
        type="object",
        properties={
            "annotations": _MAP_OF_TEXT,
            "finalizers": Schema(type="array", items=Schema(type="string"), list_type="set"),
            "generateName": Schema(type="string"),
            "labels": _MAP_OF_TEXT,
            "name": Schema(type="string"),
            "namespace": Schema(type="string"),
        },
    ),
}
_CONDITION: Final = f"{_META}Condition"


def is_builtin(cls: ApiType) -> bool:
    """Whether a class is one of Kubernetes' types."""
    module = str(cls.module_globals.get("__name__", ""))
    return module.startswith("masthead.api.") or module in {"masthead._meta.v1", "masthead._meta.metadata"}


def embedded_schema(cls: ApiType, path: str) -> Schema:
    """Return the structural schema of one of Kubernetes' types.

    Args:
        cls: The class.
        path: The path of the field, for errors.

    Raises:
        CustomResourceError: If the type contains itself.
    """
    from masthead._schema.builtin.definitions import name_of

    return _find_definition(name_of(cls), path, ())


def _find_definition(name: str, path: str, around: tuple[str, ...]) -> Schema:
    from masthead._schema.builtin.definitions import DEFINITIONS

    if name in _VALUES:
        return _VALUES[name]
    if name in around:
        short = name.rpartition(".")[2]
        raise CustomResourceError(
            f"{short} contains itself, which no schema of a custom resource can express; use dict[str, JSON] instead",
            path=path,
        )
    made = _inline(DEFINITIONS.require(name), path, (*around, name))
    if name == _CONDITION:
        return _constrain_condition(made)
    return made


def _constrain_condition(made: Schema) -> Schema:
    """Add the constraints that Kubernetes declares for code generators, and not in its OpenAPI documents."""
    fields = made.properties
    constrained = {
        # An empty value is absent on the wire, and the field is required.
        "message": replace(fields["message"], default="", max_length=conditions.MAX_MESSAGE),
        "observedGeneration": replace(fields["observedGeneration"], minimum=0),
        "reason": replace(
            fields["reason"], pattern=conditions.REASON_PATTERN, max_length=conditions.MAX_REASON, min_length=1
        ),
        "status": replace(fields["status"], enum=conditions.STATUSES),
        "type": replace(fields["type"], pattern=conditions.TYPE_PATTERN, max_length=conditions.MAX_TYPE),
    }
    return replace(made, properties={**fields, **constrained})


def _inline(schema: Schema, path: str, around: tuple[str, ...]) -> Schema:
    if schema.target:
        return _find_definition(schema.target, path, around)
    if schema == Schema():
        return ANYTHING
    extra = schema.additional_properties
    properties = {
        name: _field(property_, f"{path}.{name}", around, is_required=name in schema.required)
        for name, property_ in schema.properties.items()
    }
    items = None if schema.items is None else _inline(schema.items, f"{path}[]", around)
    made = Schema(
        type=schema.type,
        format=schema.format,
        properties=properties,
        required=schema.required,
        items=items,
        additional_properties=_inline(extra, path, around) if isinstance(extra, Schema) else None,
        list_type=schema.list_type,
        list_map_keys=schema.list_map_keys,
        map_type=schema.map_type,
    )
    # A whole object inside another one, such as a PodTemplate, has its own kind and metadata.
    if schema.kinds and "metadata" in properties:
        return _as_resource(made)
    is_free = schema.type == "object" and not properties and not made.is_map
    return replace(made, preserve_unknown=True) if is_free else _with_possible_keys(made)


def _field(schema: Schema, path: str, around: tuple[str, ...], *, is_required: bool) -> Schema:
    made = _inline(schema, path, around)
    # Go's zero value as the default of a required field has no meaning; neither has `{}` for a type.
    has_default = schema.has_default and not is_required and schema.default != {} and not made.properties
    return replace(made, default=schema.default) if has_default else made


def _as_resource(made: Schema) -> Schema:
    """Return the schema of a whole object, whose metadata is validated by the server."""
    properties = {**made.properties, "metadata": Schema(type="object")}
    return replace(made, properties=properties, embedded_resource=True)


def _with_possible_keys(made: Schema) -> Schema:
    """Whether a list can have the type ``map``: its keys must always be present."""
    if made.list_type != "map" or made.items is None:
        return made
    fields, needed = made.items.properties, made.items.required
    # Some built-in lists have optional keys, which the server refuses in definitions.
    if all(key in needed or (key in fields and fields[key].has_default) for key in made.list_map_keys):
        return made
    return replace(made, list_type="atomic", list_map_keys=())
