"""Owner references as controllers decode them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["OwnerReference", "find_controller"]


class OwnerReference(msgspec.Struct, frozen=True, rename="camel"):
    """A reference to an owner of an object."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


def find_controller(references: Iterable[OwnerReference]) -> OwnerReference | None:
    """Return the reference to the controller; None without one."""
    return next((reference for reference in references if reference.controller), None)
