"""Warnings about ServiceAccounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"


def account_warnings(new: Plain) -> list[str]:
    """Return the warnings about a ServiceAccount."""
    if _MOUNTABLE not in part(part(new, "metadata"), "annotations"):
        return []
    why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    return [f"metadata.annotations[{_MOUNTABLE}]: {why}"]


def account_change_warnings(new: Plain, old: Plain) -> list[str]:
    """Return the warnings about a change of a ServiceAccount."""
    return [] if account_warnings(old) else account_warnings(new)
