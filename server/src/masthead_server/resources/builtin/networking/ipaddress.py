"""IPAddresses: validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import required
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.validation.checks import follows, given, immutable
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_PATH = "spec.parentRef"


def address_errors(address: Plain) -> Errors:
    """Return the errors of an IPAddress."""
    spec = part(address, "spec")
    if spec.get("parentRef") is None:
        return [required(_PATH)]
    parent = part(spec, "parentRef")
    errors: Errors = []
    if parent.get("group"):
        errors += follows(f"{_PATH}.group", parent["group"], names.SUBDOMAIN)
    for field in ("resource", "name"):
        errors += given(f"{_PATH}.{field}", parent.get(field), names.path_segment)
    if parent.get("namespace"):
        errors += follows(f"{_PATH}.namespace", parent["namespace"], names.path_segment)
    return errors


def address_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of an IPAddress."""
    return immutable(_PATH, *(_format_parent(part(state, "spec").get("parentRef")) for state in (new, old)))


def _format_parent(parent: Plain | None) -> Plain | None:
    """A parent as kube-apiserver's messages show it: with the names of Go's fields."""
    if parent is None:
        return None
    fields = ("group", "resource", "namespace", "name")
    return {name.capitalize(): parent.get(name, "") for name in fields}


BEHAVIOR: Final = Behavior(hooks=StrategyHooks(validate_create=address_errors, validate_update=address_changes))
