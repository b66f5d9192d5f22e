"""How the items of a list or the entries of a map merge: facts that generated types carry as data."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

ListType: TypeAlias = Literal["atomic", "set", "map"]
MapType: TypeAlias = Literal["", "atomic", "granular"]
Strategy: TypeAlias = Literal["merge", "replace", "retainKeys"]


class Merge(msgspec.Struct, frozen=True):
    """How one field merges.

    Attributes:
        list_type: For server-side apply: one value, a set of scalars, or items found by `keys`.
        keys: The fields that name an item when `list_type` is ``map``.
        map_type: For server-side apply of a map or a type: one value, or entry by entry; empty means as the
            type itself says.
        strategy: For strategic merge patches; empty means replace.
        merge_key: For strategic merge patches: the field that names an item.
    """

    list_type: ListType = "atomic"
    keys: tuple[str, ...] = ()
    map_type: MapType = ""
    strategy: tuple[Strategy, ...] = ()
    merge_key: str = ""
