"""Validation of the specs of PersistentVolumeClaims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.validation.checks import (
    amount,
    follows,
    known_or_nothing,
    label_selector,
    unsupported,
    words,
)
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_MIXED: Final = "may not use ReadWriteOncePod with other access modes"
POSITIVE: Final = "must be greater than zero"
"""Said of an amount that is not above zero."""


def mode_errors(path: str, spec: Plain) -> Errors:
    """Validate in which ways storage may be used."""
    modes = words(spec, "accessModes")
    errors = [unsupported(path, mode, _MODES) for mode in modes if mode not in _MODES]
    others = [mode for mode in modes if mode in _MODES and mode != "ReadWriteOncePod"]
    return [*errors, forbidden(path, _MIXED)] if "ReadWriteOncePod" in modes and others else errors


def claim_spec_errors(spec: Plain, path: str) -> Errors:
    """Validate what a claim of storage asks for."""
    errors: Errors = []
    if not spec.get("accessModes"):
        errors.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    errors += label_selector(f"{path}.selector", part(spec, "selector"))
    errors += mode_errors(f"{path}.accessModes", spec)
    requested = part(part(spec, "resources"), "requests").get("storage")
    if requested is None:
        errors.append(required(f"{path}.resources[storage]"))
    elif amount(requested).sign <= 0:
        errors.append(invalid(f"{path}.resources[storage]", str(amount(requested)), POSITIVE))
    errors += follows(f"{path}.storageClassName", spec.get("storageClassName"), class_name)
    errors += known_or_nothing(f"{path}.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem"))
    for field in ("dataSource", "dataSourceRef"):
        if spec.get(field) is not None:
            errors += _source_errors(part(spec, field), f"{path}.{field}")
    errors += _pair_errors(spec, path)
    return errors + follows(f"{path}.volumeAttributesClassName", spec.get("volumeAttributesClassName"), class_name)


def class_name(value: str) -> list[str]:
    """Return what keeps a text from naming a class; an empty one names none."""
    return names.SUBDOMAIN(value) if value else []


def _pair_errors(spec: Plain, path: str) -> Errors:
    """Validate that both fields for the source of a claim's data say the same."""
    one, other = spec.get("dataSource"), spec.get("dataSourceRef")
    if one is None or other is None:
        return []
    if other.get("namespace"):
        return [invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")]
    # An empty group differs from an absent one.
    pairs = [(source.get("apiGroup"), text(source, "kind"), text(source, "name")) for source in (one, other)]
    return [] if pairs[0] == pairs[1] else [invalid(path, {}, "must match dataSourceRef")]


def _source_errors(source: Plain, path: str) -> Errors:
    errors = [required(f"{path}.{field}") for field in ("name", "kind") if not source.get(field)]
    if not source.get("apiGroup") and source.get("kind") != "PersistentVolumeClaim":
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, text(source, "kind"), why))
    if source.get("apiGroup"):
        errors += follows(f"{path}.apiGroup", source["apiGroup"], names.SUBDOMAIN)
    return errors
