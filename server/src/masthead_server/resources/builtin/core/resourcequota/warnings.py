"""Warnings about ResourceQuotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quantity import Quantity
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_QUOTAS: Final = (
    (("requests.cpu", "cpu"), "limits.cpu"),
    (("requests.memory", "memory"), "limits.memory"),
    (("requests.ephemeral-storage",), "limits.ephemeral-storage"),
)
"""Under which names requests may be bounded, and the name of the limit that should be higher."""


def quota_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a ResourceQuota."""
    hard = part(part(obj, "spec"), "hard")
    found: list[str] = []
    for names, limit in _QUOTAS:
        name = next((each for each in names if each in hard), None)
        if name is None or limit not in hard:
            continue
        requested, most = Quantity(hard[name]), Quantity(hard[limit])
        if requested > most:
            found.append(f"ResourceQuota {name} ({requested}) should be less than {limit} ({most})")
    return found
