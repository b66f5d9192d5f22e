"""VolumeAttributesClasses: validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.storage.storageclass import driver_errors
from masthead_server.resources.validation.checks import same
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def attributes_errors(found: Plain) -> Errors:
    """Return the errors of a VolumeAttributesClass."""
    errors, parameters = driver_errors("driverName", found), part(found, "parameters")
    if "" in parameters:
        errors.append(invalid("parameters", "", "field can not be empty."))
    if not parameters:
        errors.append(required("parameters", "must contain at least one key/value pair"))
    return errors


def attributes_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a VolumeAttributesClass."""
    changed = [name for name in ("driverName", "parameters") if not same(new.get(name), old.get(name))]
    errors = [forbidden(item, f"updates to {item} are forbidden.") for item in changed]
    return errors + attributes_errors(new)


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(
        validate_create=attributes_errors,
        validate_update=attributes_changes,
    )
)
