"""Who comes in: everybody is the same one, as long as nobody has to prove who they are."""

from __future__ import annotations

from typing import Final

__all__ = ["GROUPS", "NAME"]

NAME: Final = "kubernetes-admin"
GROUPS: Final = ("system:masters", "system:authenticated")
