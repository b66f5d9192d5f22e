"""The annotation of client-side apply, which `kubectl apply --server-side` takes over.

Client-side apply is an update by another manager. So that the first server-side apply does not conflict with it, the
manager ``kubectl`` takes over the fields that still have the values of the annotation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead._schema.field_sets import FieldSet
from masthead._schema.structured_merge.comparison import compare
from masthead._schema.structured_merge.ownership import field_set_of
from masthead._schema.structured_merge.type_checking import type_errors
from masthead_server.wire.plain import Plain, part, text, with_integers

if TYPE_CHECKING:
    from masthead._schema.structured_merge.types import MergeType

__all__ = ["KUBECTL", "still_applied", "with_last_applied"]

KUBECTL: Final = "kubectl"
"""The manager that takes over what client-side apply has applied."""
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_ANNOTATIONS_LIMIT: Final = 256 * 1024
_ESCAPES: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def still_applied(live: Plain, of: MergeType) -> FieldSet:
    """Return the fields that still have the values of client-side apply; none without a valid annotation.

    Args:
        live: The object, with its kind.
        of: Its type.
    """
    written = text(part(part(live, "metadata"), "annotations"), _LAST_APPLIED)
    try:
        config: object = msgspec.json.decode(written)
    except msgspec.DecodeError:
        return FieldSet()
    if not isinstance(config, dict):
        return FieldSet()
    applied = cast("Plain", config)
    # If a list has an item twice, kube-apiserver does not detect removed items.
    if applied.get("apiVersion") != live["apiVersion"] or type_errors(applied, of) or type_errors(live, of):
        return FieldSet()
    change = compare(applied, live, of)
    return field_set_of(applied, of) - change.modified - change.added - change.removed


def with_last_applied(found: Plain, config: Plain) -> Plain:
    """Return an object whose annotation, if any, holds a configuration; an annotation beyond the limit is dropped."""
    meta = part(found, "metadata")
    before = part(meta, "annotations")
    if not before.get(_LAST_APPLIED):
        return found
    annotations = {**before, _LAST_APPLIED: _encode_config(config)}
    if annotations == before:
        return found
    # The limit of all annotations together; the object would be refused as a whole.
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _ANNOTATIONS_LIMIT:
        del annotations[_LAST_APPLIED]
    return {**found, "metadata": {**meta, "annotations": annotations}}


def _encode_config(config: Plain) -> str:
    """Write a configuration as Go's encoder does, without the annotation itself."""
    meta = part(config, "metadata")
    annotations = {key: value for key, value in part(meta, "annotations").items() if key != _LAST_APPLIED}
    if "annotations" in meta:
        config = {**config, "metadata": {**meta, "annotations": annotations}}
    written = msgspec.json.encode(with_integers(config), order="sorted").decode()
    for character, escape in _ESCAPES.items():
        written = written.replace(character, escape)
    return f"{written}\n"
