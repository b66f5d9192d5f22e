"""The metaclasses of kinds and their lists."""

from __future__ import annotations

import enum
import sys
import types
from datetime import datetime
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

from msgspec import UNSET, UnsetType

from masthead._meta.model import StructType, field
from masthead._meta.quantity import Quantity
from masthead._meta.slots import ValueSlot, annotations_in, is_field, member_of
from masthead._meta.time import MicroTime

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionKind

TYPE_FIELDS: Final = frozenset({"api_version", "kind"})
"""The attributes of TypeMeta."""

_EAGER: Final = TYPE_FIELDS | {"metadata"}
_SCALARS: Final = frozenset({str, int, float, bool, bytes, type(None), datetime, MicroTime, Quantity})


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
class KindType(StructType):
    """The metaclass of kinds and their lists: each class accepts its own kind only."""

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        /,
        **config: Any,  # noqa: ANN401 - msgspec's own
    ) -> KindType:
        """Create a kind or list class from its ``GVK`` and, for a list, its ``ITEM``."""
        gvk: GroupVersionKind | None = namespace.get("GVK")
        type_meta = {"api_version": gvk.api_version, "kind": gvk.kind} if gvk is not None and gvk.kind else {}
        for attribute, value in type_meta.items():
            annotations_in(namespace)[attribute] = Union[Literal[value], UnsetType]
            namespace[attribute] = UNSET
        made = cast("KindType", super().__new__(cls, name, bases, namespace, **config))
        for attribute, value in type_meta.items():
            member = member_of(made.__mro__[1], attribute)
            type.__setattr__(made, attribute, ValueSlot(member, value))
        if item := namespace.get("ITEM"):
            type.__setattr__(made, "declared", {**made.declared, "items": types.GenericAlias(list, (item,))})
        return made


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
class ObjectType(KindType):
    """The metaclass of kinds: makes their sections lazy."""

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        /,
        **config: Any,  # noqa: ANN401 - msgspec's own
    ) -> ObjectType:
        """Create a kind class whose sections are decoded when they are first read."""
        if "api_type" not in config:
            scope = vars(sys.modules.get(namespace["__module__"], types))
            config["lazy"] = tuple(
                inner
                for inner, annotation in annotations_in(namespace).items()
                if is_field(inner, annotation) and inner not in _EAGER and not _is_scalar(annotation, scope)
            )
        return cast("ObjectType", super().__new__(cls, name, bases, namespace, **config))


def _is_scalar(annotation: object, scope: dict[str, object]) -> bool:
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, scope)
        except NameError:  # a type that is defined further down
            return False
    origin = get_origin(annotation)
    if origin in {Union, types.UnionType}:
        return all(_is_scalar(arg, scope) for arg in get_args(annotation))
    if origin is Annotated:
        return _is_scalar(get_args(annotation)[0], scope)
    if origin is Literal or (isinstance(annotation, type) and issubclass(annotation, enum.Enum)):
        return True
    return cast("Any", annotation) in _SCALARS
