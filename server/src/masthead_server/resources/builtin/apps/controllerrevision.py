"""ControllerRevisions: validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.validation.checks import IMMUTABLE, not_negative

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def revision_errors(revision: Plain) -> Errors:
    """Return the errors of a ControllerRevision."""
    errors, data = not_negative("revision", revision.get("revision")), revision.get("data")
    if data is None:
        errors.append(required("data", "data is mandatory"))
    elif not isinstance(data, dict):
        errors.append(required("data", "data must be a valid JSON object"))
    return errors


def revision_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a ControllerRevision."""
    errors, data = not_negative("revision", new.get("revision")), new.get("data")
    return errors if data == old.get("data") else [*errors, invalid("data", data, IMMUTABLE)]


BEHAVIOR: Final = Behavior(hooks=StrategyHooks(validate_create=revision_errors, validate_update=revision_changes))
