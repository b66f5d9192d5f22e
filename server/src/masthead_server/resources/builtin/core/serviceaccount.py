"""ServiceAccounts: warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
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


def _prepare_create(new: Plain, _: Allocator) -> None:
    _keep_secret_names(new)


def _prepare_update(new: Plain, _: Plain) -> None:
    _keep_secret_names(new)


def _keep_secret_names(new: Plain) -> None:
    """Reduce references to secrets to their names."""
    if secrets := new.get("secrets"):
        new["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in secrets]


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(prepare_create=_prepare_create, prepare_update=_prepare_update),
    warnings=WarningHooks(account_warnings, account_change_warnings),
)
