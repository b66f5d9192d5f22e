"""The user of every request: the server authenticates, but does not tell clients apart."""

from __future__ import annotations

from typing import Final

__all__ = ["GROUPS", "NAME"]

NAME: Final = "kubernetes-admin"
GROUPS: Final = ("system:masters", "system:authenticated")
