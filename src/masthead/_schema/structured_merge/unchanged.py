"""Unchanged objects: proof that applying a configuration would change no value; and the fields that its manager owns.

The server merges a configuration into the object, decodes the result and adds defaults. So texts that mean the same are
equal (``1000m`` and ``1``), and an atomic value may have gained defaults. What cannot be proven counts as a change: a
needless request costs little, a missing one is a bug.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

from masthead._meta.quantity import Quantity
from masthead._meta.time import format_micro_time, format_time, parse_time
from masthead._schema.schema import CONTAINERS
from masthead._schema.structured_merge.comparison import equal
from masthead._schema.structured_merge.items import items_by_element
from masthead._schema.structured_merge.managers import SYSTEM_FIELDS
from masthead._schema.structured_merge.ownership import field_set_of
from masthead._schema.structured_merge.types import MapType
from masthead.errors import QuantityError, TimeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._schema.field_sets import FieldSet
    from masthead._schema.schema import Json
    from masthead._schema.structured_merge.types import ListType, MergeType, Notation

__all__ = ["contains_configuration", "owned_fields_of"]


def owned_fields_of(config: Json, of: MergeType) -> FieldSet:
    """Return the fields that a manager owns after applying a configuration to an object.

    Raises:
        UnidentifiedItemError: If an item of a set or of a list with keys cannot be identified.
    """
    return field_set_of(config, of) - SYSTEM_FIELDS


def contains_configuration(live: Json, config: Json, of: MergeType, *, allow_additions: bool = False) -> bool:
    """Whether it is certain that applying a configuration changes no value of an object.

    Args:
        live: The object, as the server returned it.
        config: The configuration.
        of: The merge type of both.
        allow_additions: Take every field that the object has in addition for a default, also inside atomic values:
            right after the configuration was applied, they can be nothing else.

    Raises:
        UnidentifiedItemError: If an item of a set or of a list with keys cannot be identified.
    """
    return _Proof(allow_additions=allow_additions).contains(live, config, of)


class _Proof:
    """Compares a live value with a configured one, as the server would change it.

    Args:
        allow_additions: Take additional fields of atomic values for defaults.
    """

    def __init__(self, *, allow_additions: bool) -> None:
        self._allow_additions = allow_additions

    def contains(self, live: Json, config: Json, of: MergeType | None) -> bool:
        """Whether merging a configuration into a live value gives the live value."""
        form = None if of is None else of.form(config)
        if form is None or form.is_atomic or live is None:
            return self._equals(live, config, of)
        if isinstance(form, MapType):
            if config.__class__ is not dict or live.__class__ is not dict:
                return equal(live, config)
            return all(
                self.contains(live[name], value, form.type_of(name))
                if name in live
                else self._is_omitted(value, form, name)
                for name, value in config.items()
            )
        if config.__class__ is not list or live.__class__ is not list:
            return equal(live, config)
        return self._contains_items(live, config, form)

    def _contains_items(self, live: list[Json], config: list[Json], of: ListType) -> bool:
        present, applied = items_by_element(live, of), items_by_element(config, of)
        # The merged list has the items of the configuration in the order of the configuration.
        if [element for element in present if element in applied] != list(applied):
            return False
        return all(
            len(items) == len(present[element]) == 1 and self.contains(present[element][0], items[0], of.items)
            for element, items in applied.items()
        )

    def _equals(self, live: Json, config: Json, of: MergeType | None) -> bool:
        """Whether the server would turn a configured atomic value into the live one."""
        if equal(live, config):
            return True
        if of is None:
            return False
        if live is None:
            # Go writes an empty list that is required as null.
            return of.scalar is None and config.__class__ is list and not config
        if config.__class__ is dict and live.__class__ is dict:
            return of.map_type is not None and self._equal_maps(live, config, of.map_type)
        if config.__class__ is list and live.__class__ is list:
            items = None if of.list_type is None else of.list_type.items
            return len(live) == len(config) and all(
                self._equals(before, after, items) for before, after in zip(live, config, strict=True)
            )
        return of.notation != "" and _canonical(config, of.notation) == live

    def _equal_maps(self, live: dict[str, Json], config: dict[str, Json], of: MapType) -> bool:
        is_set = all(
            self._equals(live[name], value, of.type_of(name)) if name in live else self._is_omitted(value, of, name)
            for name, value in config.items()
        )
        return is_set and all(
            name in config or self._allow_additions or _is_default(value, of, name) for name, value in live.items()
        )

    def _is_omitted(self, value: Json, of: MapType, name: str) -> bool:
        """Whether the server omits a field with this configured value.

        Null, empty lists and empty maps are omitted. An empty struct, false, 0 and an empty string are values if the
        field is a pointer; a field whose default is its zero value is not a pointer.
        """
        field = of.type_of(name) if of.declares(name) else None
        if field is None or (field.scalar == "untyped" and not field.notation):
            return False
        if value is None:
            return True
        if value.__class__ in CONTAINERS and not value:
            form = field.form(value)
            return form is not None and not (isinstance(form, MapType) and form.is_struct)
        return not value and (self._allow_additions or equal(value, of.default_of(name)))


def _is_default(value: Json, of: MapType, name: str) -> bool:
    return of.declares(name) and equal(value, of.default_of(name))


def _canonical(value: Json, notation: Notation) -> Json:
    """A value as the server writes it; None if it would refuse it."""
    try:
        return _CANONICAL[notation](value)
    except (QuantityError, TimeError, TypeError, ValueError, binascii.Error):
        return None


def _canonical_quantity(value: Json) -> str:
    if isinstance(value, bool):
        raise TypeError(value)
    return str(Quantity(value))


def _canonical_bytes(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    text = value.replace("\n", "").replace("\r", "")
    return base64.b64encode(base64.b64decode(text, validate=True)).decode()


def _canonical_time(value: Json, write: Callable[..., str]) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return write(parse_time(value))


_CANONICAL: Final[Mapping[str, Callable[[Json], Json]]] = {
    "quantity": _canonical_quantity,
    "time": lambda value: _canonical_time(value, format_time),
    "micro-time": lambda value: _canonical_time(value, format_micro_time),
    "bytes": _canonical_bytes,
}
