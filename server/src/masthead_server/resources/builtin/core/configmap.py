"""ConfigMaps: validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, too_long
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.validation.checks import follows
from masthead_server.resources.validation.keyed_data import MEGABYTE, data_key_errors, decoded_data, immutable_errors
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def config_map_errors(config_map: Plain) -> Errors:
    """Return the errors of a ConfigMap."""
    data, binary = part(config_map, "data"), part(config_map, "binaryData")
    errors: Errors = []
    for key in data:
        path = f"data[{key}]"
        errors += follows(path, key, names.config_key)
        if key in binary:
            errors.append(invalid(path, key, "duplicate of key present in binaryData"))
    errors += data_key_errors("binaryData", binary)
    # In bytes, as Go's len counts a string.
    size = sum(len(value.encode()) for value in data.values())
    size += sum(len(decoded_data(value)) for value in binary.values())
    return [*errors, too_long("[]", MEGABYTE)] if size > MEGABYTE else errors


def config_map_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a ConfigMap."""
    return immutable_errors(new, old, "data", "binaryData") + config_map_errors(new)


BEHAVIOR: Final = Behavior(hooks=StrategyHooks(validate_create=config_map_errors, validate_update=config_map_changes))
