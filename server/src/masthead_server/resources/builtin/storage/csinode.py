"""CSINodes: validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import duplicate, invalid, required, too_long
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.validation.checks import IMMUTABLE, each_of, follows, not_negative, unique, words
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_MAX_ID_LENGTH: Final = 256
_MAX_NAME_LENGTH: Final = 63


def node_errors(node: Plain) -> Errors:
    """Return the errors of a CSINode."""
    errors: Errors = []
    seen: set[str] = set()
    for path, driver in each_of(part(node, "spec"), "drivers", "spec"):
        errors += _name_errors(text(driver, "name"), f"{path}.name")
        errors += _id_errors(text(driver, "nodeID"), f"{path}.nodeID")
        count = part(driver, "allocatable").get("count")
        if count is not None:
            errors += not_negative(f"{path}.allocatable.count", count)
        errors += unique(f"{path}.name", text(driver, "name"), seen)
        errors += _topology_errors(words(driver, "topologyKeys"), path)
    return errors


def _name_errors(name: str, path: str) -> Errors:
    if not name:
        return [required(path)]
    errors = [too_long(path, _MAX_NAME_LENGTH)] if len(name.encode()) > _MAX_NAME_LENGTH else []
    # CSI allows capitals in driver names; the format does not.
    return errors + [invalid(path, name, problem) for problem in names.SUBDOMAIN(name.lower())]


def _id_errors(node_id: str, path: str) -> Errors:
    if not node_id:
        return [required(path)]
    if len(node_id.encode()) > _MAX_ID_LENGTH:
        return [invalid(path, node_id, f"must be {_MAX_ID_LENGTH} characters or less")]
    return []


def _topology_errors(keys: list[str], path: str) -> Errors:
    errors: Errors = []
    for index, key in enumerate(keys):
        if not key:
            # The path is that of the driver, without the index of the key, as in kube-apiserver.
            errors.append(required(path))
        if key in keys[:index]:
            errors.append(duplicate(path, key))
        errors += follows(path, key, names.qualified_name)
    return errors


def node_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a CSINode: only the allocatable count of a driver may change."""
    errors = node_errors(new)
    stored = {text(known_driver, "name"): known_driver for known_driver in items(part(old, "spec"), "drivers")}
    for driver in items(part(new, "spec"), "drivers"):
        # Drivers may be added and removed as they register on the node.
        before = stored.get(text(driver, "name"))
        if before is not None and _format_driver(driver) != _format_driver(before):
            errors.append(invalid("spec.drivers", _format_driver(driver), IMMUTABLE))
    return errors


def _format_driver(driver: Plain) -> Plain:
    """What of a driver cannot be changed, as kube-apiserver's messages show it."""
    return {
        "Name": text(driver, "name"),
        "NodeID": text(driver, "nodeID"),
        "TopologyKeys": driver.get("topologyKeys"),
        "Allocatable": None,
    }


BEHAVIOR: Final = Behavior(hooks=StrategyHooks(validate_create=node_errors, validate_update=node_changes))
