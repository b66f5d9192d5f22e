"""Schemas of classes: the tree of a generated type, as OpenAPI describes it.

A class has the fields, their types, which of them are optional, and how they merge. What it lacks (formats of integers,
some defaults, the names of types that are plain JSON in Python) is in `TypeFacts`, which `read_facts` reads from a
compact text.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast, get_args, get_origin

import msgspec

from masthead._meta.apitype import ApiType
from masthead._meta.object import ObjectList
from masthead._meta.quantity import Quantity
from masthead._meta.shape import annotations_of
from masthead._meta.time import MicroTime
from masthead._schema.schema import REF_PREFIX, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._meta.gvk import GroupVersionKind
    from masthead._meta.merge import Merge

__all__ = ["NO_FACTS", "FieldFacts", "TypeFacts", "read_facts", "schema_of_class", "write_facts"]

_MACHINERY: Final = "io.k8s.apimachinery.pkg."
_VALUES: Final[Mapping[object, str]] = {
    datetime: f"{_MACHINERY}apis.meta.v1.Time",
    MicroTime: f"{_MACHINERY}apis.meta.v1.MicroTime",
    Quantity: f"{_MACHINERY}api.resource.Quantity",
}
"""The schemas of Python types that are no plain JSON."""
_INT_OR_STRING: Final = f"{_MACHINERY}util.intstr.IntOrString"
_SCALARS: Final[Mapping[object, Schema]] = {
    str: Schema(type="string", default=""),
    int: Schema(type="integer", format="int32", default=0),
    float: Schema(type="number", format="double", default=0),
    bool: Schema(type="boolean", default=False),
    bytes: Schema(type="string", format="byte"),
}
_HEAD: Final = frozenset({"apiVersion", "kind"})
"""Fields of every kind that are never required and have no default."""


class FieldFacts(msgspec.Struct, frozen=True):
    """The properties of a field's schema that the class lacks.

    Attributes:
        is_int64: Whether its integers have 64 bits instead of 32.
        has_list_type: Whether the list type is stated; None if it is for lists, and for nothing else.
        is_bare: Whether a reference is written without ``allOf``.
        target: The full name of the innermost value's schema; empty if it follows from the class.
        default: The default; None if it follows from the class, UNSET for no default.
    """

    is_int64: bool = False
    has_list_type: bool | None = None
    is_bare: bool = False
    target: str = ""
    default: Any = None


class TypeFacts(msgspec.Struct, frozen=True):
    """The properties of a type's schema that the class lacks.

    Attributes:
        required: The required fields in order; None if they follow from the class.
        fields: Facts about fields, by their wire names.
        unions: Which of the fields exclude each other.
    """

    required: tuple[str, ...] | None = None
    fields: dict[str, FieldFacts] = {}
    unions: tuple[Any, ...] = ()


NO_FACTS: Final = TypeFacts()
_NO_FIELD_FACTS: Final = FieldFacts()
_TOKEN: Final = re.compile(r"([^:\s]+):([#+*~-]*)(?:@([^=\s]+))?(?:=(\S+))?")
_TYPE: Final = re.compile(r"(\w+)(?:!(\S*))?(?:\s+\|(\S+))?")


def read_facts(text: str) -> dict[str, TypeFacts]:
    """Read facts, one type per line, by the names of the types.

    A line is the type, ``!`` and its required fields, ``|`` and its unions as JSON, and its fields: a name, a colon,
    flags (``#`` for 64 bits, ``+`` and ``-`` for a list type that is or is not stated, ``*`` for a bare reference,
    ``~`` for no default), ``@`` and the target, ``=`` and the default as JSON. What follows from the class is left out.
    """
    return dict(map(_read_line, text.splitlines()))


def _read_line(line: str) -> tuple[str, TypeFacts]:
    head = _TYPE.match(line)
    if head is None:
        raise ValueError(line)
    name, required, unions = head.groups()
    return name, TypeFacts(
        None if required is None else tuple(filter(None, required.split(","))),
        {token[1]: _read_token(token) for token in _TOKEN.finditer(line, head.end())},
        tuple(msgspec.json.decode(unions)) if unions else (),
    )


def _read_token(token: re.Match[str]) -> FieldFacts:
    _, flags, target, default = token.groups()
    has_list_type = True if "+" in flags else False if "-" in flags else None
    value: object = msgspec.json.decode(default) if default else msgspec.UNSET if "~" in flags else None
    return FieldFacts("#" in flags, has_list_type, "*" in flags, target or "", value)


def write_facts(facts: Mapping[str, TypeFacts]) -> str:
    """Write facts in the form that `read_facts` reads; types without any are left out."""
    return "\n".join(_line(name, known) for name, known in sorted(facts.items()) if known != NO_FACTS)


def _line(name: str, facts: TypeFacts) -> str:
    required = "" if facts.required is None else f"!{','.join(facts.required)}"
    unions = [f"|{msgspec.json.encode(facts.unions).decode()}"] if facts.unions else []
    return " ".join([f"{name}{required}", *unions, *(_token(*item) for item in facts.fields.items())])


def _token(wire: str, facts: FieldFacts) -> str:
    is_unset = facts.default is msgspec.UNSET
    flags = [
        "#" if facts.is_int64 else "",
        {True: "+", False: "-", None: ""}[facts.has_list_type],
        "*" if facts.is_bare else "",
        "~" if is_unset else "",
        f"@{facts.target}" if facts.target else "",
        "" if is_unset or facts.default is None else f"={msgspec.json.encode(facts.default).decode()}",
    ]
    return f"{wire}:{''.join(flags)}"


def schema_of_class(cls: ApiType, name_of: Callable[[ApiType], str], facts: TypeFacts = NO_FACTS) -> Schema:
    """Return the schema of an API type; other types that its fields have are references.

    Args:
        cls: The class as declared.
        name_of: Returns the full name of the schema of a class.
        facts: What the class does not say.
    """
    hints = annotations_of(cls)
    gvk: GroupVersionKind | None = getattr(cls, "GVK", None)
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for attribute, wire in sorted(
        zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True), key=lambda pair: pair[1]
    ):
        field = _Field(cls, wire, name_of, facts.fields.get(wire, _NO_FIELD_FACTS))
        if wire in _HEAD and gvk is not None:
            properties[wire] = Schema(type="string")
            continue
        properties[wire] = field.schema(hints[attribute])
        if field.is_value(hints[attribute]):
            required.append(wire)
    return Schema(
        type="object",
        properties=properties,
        required=tuple(required) if facts.required is None else facts.required,
        map_type="atomic" if cast("Any", cls).ATOMIC else None,
        kinds=() if gvk is None else (gvk,),
        unions=facts.unions,
    )


class _Field:
    """One field of a class."""

    def __init__(self, cls: ApiType, wire: str, name_of: Callable[[ApiType], str], facts: FieldFacts) -> None:
        self._cls = cls
        self._name_of = name_of
        self._facts = facts
        self._merge: Merge | None = cast("Any", cls).MERGE.get(wire)

    def is_value(self, annotation: object) -> bool:
        """Whether it is a scalar that is never absent, and so required as a rule; items of lists are, too."""
        origin = get_origin(annotation)
        return annotation in _SCALARS or origin is Literal or (origin is list and issubclass(self._cls, ObjectList))

    def schema(self, annotation: object) -> Schema:
        """The schema of the field."""
        is_optional = type(None) in get_args(annotation)
        found = self._of(_without_none(annotation) if is_optional else annotation, is_inner=False)
        changes = self._merge_rules(found)
        if self._facts.default is not None:
            changes["default"] = self._facts.default
        elif is_optional:
            changes["default"] = msgspec.UNSET
        return msgspec.structs.replace(found, **changes)

    def _of(self, annotation: object, *, is_inner: bool) -> Schema:
        """The schema of a value.

        Args:
            annotation: Its type.
            is_inner: Whether it is an item of a list or a value of a map.
        """
        origin, arguments = get_origin(annotation), get_args(annotation)
        # The target of the facts replaces the innermost type, which is not always free-form JSON.
        if origin is list:
            return Schema(type="array", items=self._of(arguments[0], is_inner=True))
        if origin is dict and (not self._facts.target or arguments[1] is not Any or is_inner):
            return Schema(type="object", additional_properties=self._of(arguments[1], is_inner=True))
        if self._facts.target:
            return self._reference(self._facts.target, is_inner=is_inner)
        if isinstance(annotation, ApiType):
            found = self._reference(self._name_of(annotation), is_inner=False)
            return msgspec.structs.replace(found, default={})
        if origin is Literal:
            return _SCALARS[str]
        if origin is Annotated:
            annotation = arguments[0]
        if annotation in _VALUES:
            return self._reference(_VALUES[annotation], is_inner=is_inner)
        if annotation == int | str:
            return self._reference(_INT_OR_STRING, is_inner=is_inner)
        scalar = _SCALARS.get(annotation, Schema())
        return msgspec.structs.replace(scalar, format="int64") if self._facts.is_int64 else scalar

    def _reference(self, target: str, *, is_inner: bool) -> Schema:
        reference = Schema(ref=REF_PREFIX + target)
        return reference if is_inner or self._facts.is_bare else Schema(all_of=(reference,))

    def _merge_rules(self, schema: Schema) -> dict[str, Any]:
        merge, is_stated = self._merge, self._facts.has_list_type
        found: dict[str, Any] = {}
        is_list = schema.type == "array" and not issubclass(self._cls, ObjectList)
        if is_list if is_stated is None else is_stated:
            found["list_type"] = merge.list_type if merge else "atomic"
        if merge is None:
            return found
        return found | {
            "list_map_keys": merge.keys,
            "map_type": merge.map_type or None,
            "patch_strategy": ",".join(merge.strategy),
            "patch_merge_key": merge.merge_key,
        }


def _without_none(annotation: object) -> object:
    """The type of an optional field when it is set; unions that only facts describe are any type."""
    members = tuple(arg for arg in get_args(annotation) if arg is not type(None))
    if len(members) == 1:
        return members[0]
    return int | str if set(members) == {int, str} else Any
