"""Merge rules of lists and maps, which generated types carry as data."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from masthead._module import set_module

ListType: TypeAlias = Literal["atomic", "set", "map"]
MapType: TypeAlias = Literal["", "atomic", "granular"]
MergeStrategy: TypeAlias = Literal["merge", "replace", "retainKeys"]


@set_module("masthead.meta")
class Merge(msgspec.Struct, frozen=True):
    """The merge rule of a field.

    Attributes:
        list_type: For server-side apply: atomic, a set of scalars, or a map by `keys`.
        keys: The fields that identify an item if `list_type` is ``map``.
        map_type: For server-side apply of a map or a type: atomic or granular; empty for the rule of the type itself.
        strategy: For strategic merge patches; empty means replace.
        merge_key: For strategic merge patches: the field that identifies an item.
    """

    list_type: ListType = "atomic"
    keys: tuple[str, ...] = ()
    map_type: MapType = ""
    strategy: tuple[MergeStrategy, ...] = ()
    merge_key: str = ""
