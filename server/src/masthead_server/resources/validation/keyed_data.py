"""Validation of the data of Secrets and ConfigMaps."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden
from masthead_server.resources import names
from masthead_server.resources.validation.checks import follows, same

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

MEGABYTE: Final = 1024 * 1024
_FROZEN: Final = "field is immutable when `immutable` is set"


def data_key_errors(field: str, data: Plain) -> Errors:
    """Return the errors of the keys of a map."""
    return [error for key in data for error in follows(f"{field}[{key}]", key, names.config_key)]


def decoded_data(value: object) -> bytes:
    """Return the bytes of a base64 value."""
    return base64.b64decode(value) if isinstance(value, str) else b""


def immutable_errors(new: Plain, old: Plain, *fields: str) -> Errors:
    """Return the errors of a change of an object that is marked as immutable."""
    if not old.get("immutable"):
        return []
    errors = [] if new.get("immutable") else [forbidden("immutable", _FROZEN)]
    return errors + [forbidden(field, _FROZEN) for field in fields if not same(new.get(field), old.get(field))]
