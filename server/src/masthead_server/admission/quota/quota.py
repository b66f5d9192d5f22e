"""A quota, as admission and the quota controller read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from masthead_server.admission.quota.scopes import Scope, read_scopes
from masthead_server.resources.amounts import Amounts, read_amounts
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

__all__ = ["Quota"]


@dataclass(frozen=True, slots=True)
class Quota:
    """A stored quota.

    Attributes:
        name: Its name.
        wanted: The limits of its spec, which the controller copies to the status.
        hard: The limits of its status, which admission enforces.
        used: The usage in its status.
        scopes: All scopes that an object must be in, for the quota to be about it.
    """

    name: str
    wanted: Amounts
    hard: Amounts
    used: Amounts
    scopes: tuple[Scope, ...]

    @classmethod
    def read(cls, found: Plain) -> Quota:
        """Read a stored quota."""
        spec, status = part(found, "spec"), part(found, "status")
        return cls(
            text(part(found, "metadata"), "name"),
            read_amounts(spec, "hard"),
            read_amounts(status, "hard"),
            read_amounts(status, "used"),
            read_scopes(spec),
        )
