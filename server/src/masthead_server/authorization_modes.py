"""Authorization modes: the names of authorizers in settings."""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = ["AuthorizationMode", "parse_modes"]


class AuthorizationMode(Enum):
    """An authorizer, by its name in ``--authorization-mode``."""

    ALWAYS_ALLOW = "alwaysallow"
    ALWAYS_DENY = "alwaysdeny"
    NODE = "node"
    RBAC = "rbac"


_UNSUPPORTED: Final = frozenset({"abac", "webhook"})
"""Modes of kube-apiserver that need a file, and that this server does not have."""
_CHOICES: Final = "there are always-allow, always-deny, node and rbac, also together as in node,rbac"


def parse_modes(text: str) -> tuple[AuthorizationMode, ...]:
    """Read modes as in ``node,rbac``, in any case and with or without hyphens.

    Raises:
        ValueError: If a mode is unknown or repeated.
    """
    modes: list[AuthorizationMode] = []
    for name in text.split(","):
        key = name.strip().lower().replace("-", "")
        if key in _UNSUPPORTED:
            raise ValueError(f"the mode {name.strip()} is not supported; {_CHOICES}")
        try:
            mode = AuthorizationMode(key)
        except ValueError:
            raise ValueError(f"there is no authorization mode {name.strip()!r}; {_CHOICES}") from None
        if mode in modes:
            raise ValueError(f"the authorization mode {name.strip()} is there twice")
        modes.append(mode)
    return tuple(modes)
