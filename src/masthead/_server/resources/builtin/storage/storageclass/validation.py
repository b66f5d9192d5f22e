"""Validation of StorageClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.errors import required
from masthead._server.resources import names
from masthead._server.resources.validation.checks import follows, immutable, known_or_nothing
from masthead._server.wire.plain import text

if TYPE_CHECKING:
    from masthead._server.resources.behavior import Errors
    from masthead._server.wire.plain import Plain


def driver_errors(field: str, found: Plain) -> Errors:
    """Return the errors of the name of a driver."""
    driver = text(found, field)
    return follows(field, driver.lower(), names.qualified_name) if driver else [required(field)]


def class_errors(found: Plain) -> Errors:
    """Return the errors of a StorageClass."""
    errors = driver_errors("provisioner", found)
    # Deleting or keeping is what a provisioner can do; recycling is not.
    errors += known_or_nothing("reclaimPolicy", found.get("reclaimPolicy") or None, ("Delete", "Retain"))
    modes = ("Immediate", "WaitForFirstConsumer")
    return errors + known_or_nothing("volumeBindingMode", found.get("volumeBindingMode"), modes)


def class_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a StorageClass."""
    errors = class_errors(new) + immutable("parameters", new.get("parameters"), old.get("parameters"))
    errors += immutable("provisioner", text(new, "provisioner"), text(old, "provisioner"))
    for field in ("reclaimPolicy", "volumeBindingMode"):
        errors += immutable(field, new.get(field), old.get(field))
    return errors
