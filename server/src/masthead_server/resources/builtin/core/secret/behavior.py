"""Behavior of Secrets."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.builtin.core.secret.defaults import DEFAULTS
from masthead_server.resources.builtin.core.secret.validation import secret_changes, secret_errors
from masthead_server.resources.builtin.core.secret.warnings import tls_warnings
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def _set_defaults(secret: Plain) -> None:
    """Set the defaults, and move readable values to where all values are kept; a Secret never shows them again."""
    DEFAULTS(secret)
    texts = part(secret, "stringData")
    secret.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in texts.items()}
        secret["data"] = {**part(secret, "data"), **encoded}


def _carry_secret(new: Plain, old: Plain) -> None:
    if not new.get("type"):
        new["type"] = old.get("type")


BEHAVIOR: Final = Behavior(
    defaults=_set_defaults,
    hooks=StrategyHooks(
        prepare_update=_carry_secret,
        validate_create=secret_errors,
        validate_update=secret_changes,
    ),
    warnings=always(tls_warnings),
)
