"""The slow path of decoding, field by field, for objects with unknown or invalid fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
from msgspec import Raw

from masthead._meta import shape, typeinfo, wire
from masthead._meta.apitype import construct
from masthead._meta.kinds import TYPE_FIELDS, KindType
from masthead._meta.metadata import ObjectMeta
from masthead._meta.slots import is_lazy
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionKind
    from masthead._meta.model import Struct

_parts_decoder: Final = typeinfo.json_decoder(dict[str, Raw])
_items_decoder: Final = typeinfo.json_decoder(list[Raw] | None)


def decode_by_field(cls: KindType, data: bytes) -> object:
    """Decode an object field by field: keep unknown fields, and locate the invalid one.

    Raises:
        DecodeError: If a field is invalid.
    """
    try:
        parts = split_fields(data)
        check_kind(cls, {name: wire.decode_plain(parts[name]) for name in ("apiVersion", "kind") if name in parts})
        return _build_parts(cls, parts)
    except shape.ShapeError as fault:
        raise DecodeError(fault.problem, kind=cls.__name__, subject=subject_of(data), path=fault.path) from None


def split_fields(data: bytes) -> dict[str, Raw]:
    """Split an object into its fields, each as raw bytes.

    Raises:
        ShapeError: If the text is not a JSON object.
    """
    try:
        return _parts_decoder.decode(data)
    except msgspec.ValidationError:
        raise shape.ShapeError(f"expected an object, got {shape.describe(wire.decode_plain(data))}") from None
    except wire.MALFORMED as error:
        raise wire.malformed(error) from None


def resplit_fields(owner: Struct, data: bytes) -> dict[str, Raw]:
    """Split an object that was decoded before. Deep in the stack, this can hit the recursion limit.

    Raises:
        DecodeError: If it cannot be decoded here.
    """
    try:
        return split_fields(data)
    except shape.ShapeError as fault:
        raise owner.decode_error(fault) from None


def _build_parts(cls: KindType, parts: Mapping[str, Raw]) -> object:
    fields = shape.fields_of(cls.api_type)
    known: dict[str, object] = {}
    unknown: dict[str, object] = {}
    for key, raw in parts.items():
        this = fields.get(key)
        if this is None:
            unknown[key] = wire.decode_plain(raw)
        elif this.attribute in TYPE_FIELDS and cast("Any", cls).GVK.kind:
            continue  # checked already; the class supplies them
        elif is_lazy(cls, this.attribute):
            known[this.attribute] = raw
        elif this.attribute == "items" and hasattr(cls, "ITEM"):
            known["items"] = _split_items(raw)
        else:
            known[this.attribute] = read_field(cls, this.attribute, raw)
    return shape.construct_with_unknown(cls, known, unknown) if unknown else construct(cls, known)


def read_field(cls: KindType, attribute: str, raw: Raw) -> object:
    """Decode one field, declared or unknown.

    Raises:
        ShapeError: If it is invalid; the path begins with the field.
    """
    this = shape.fields_by_attribute(cls.api_type).get(attribute)
    if this is None:
        return wire.decode_plain(raw)
    try:
        return wire.reader_of(cls.api_type, attribute).read(raw)
    except shape.ShapeError as fault:
        fault.steps.append(f".{this.wire}")
        raise


def _split_items(raw: Raw) -> list[Raw] | None:
    try:
        return cast("list[Raw] | None", _items_decoder.decode(raw))
    except msgspec.ValidationError:
        fault = shape.ShapeError(f"expected a list, got {shape.describe(wire.decode_plain(raw))}")
        fault.steps.append(".items")
        raise fault from None


def check_kind(cls: KindType, data: object) -> None:
    """Reject an object of another kind. Missing apiVersion and kind are accepted.

    Raises:
        ShapeError: If the kind differs, or `data` is not an object.
    """
    if not isinstance(data, Mapping):
        raise shape.ShapeError(f"expected an object, got {shape.describe(data)}")
    content = cast("Mapping[str, object]", data)
    gvk: GroupVersionKind = cast("Any", cls).GVK
    # kubectl prints any list as a v1 List.
    also = {"apiVersion": "v1", "kind": "List"} if hasattr(cls, "ITEM") else {}
    for name, right in (("apiVersion", gvk.api_version), ("kind", gvk.kind)):
        actual = content.get(name)
        if actual and right and actual not in (right, also.get(name)):
            fault = shape.ShapeError(f'expected "{right}", got "{actual}"')
            fault.steps.append(f".{name}")
            raise fault


def subject_of(text: bytes | str) -> str:
    """Return ``namespace/name`` of encoded data for messages; empty if it cannot be decoded."""
    try:
        return subject_in(wire.decode_plain(text))
    except shape.ShapeError:
        return ""


def subject_in(data: object) -> str:
    """Return ``namespace/name`` of decoded data for messages; empty if it has no metadata."""
    metadata = cast("Mapping[str, object]", data).get("metadata") if isinstance(data, Mapping) else None
    if isinstance(metadata, ObjectMeta):
        parts: tuple[object, ...] = (metadata.namespace, metadata.name)
    elif isinstance(metadata, Mapping):
        content = cast("Mapping[str, object]", metadata)
        parts = (content.get("namespace"), content.get("name"))
    else:
        return ""
    return "/".join(part for part in parts if part and isinstance(part, str))
