"""Building blocks of defaulting.

A `Fill` sets the defaults of one struct in place. `shape` makes one from facts: which fields get which value if they
are blank, and which `Fill` sets the defaults of nested structs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from masthead._meta.quantity import Quantity, QuantityFormat
from masthead_server.resources.go_values import write_quantity
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.resources.behavior import Fill
    from masthead_server.wire.plain import Plain

Inner: TypeAlias = Callable[[Any], None]
"""Sets the defaults of a field's value in place: a struct, a list or a map."""

_NOTHING: Mapping[str, Any] = {}


def shape(
    *,
    blank: Mapping[str, Any] = _NOTHING,
    unset: Mapping[str, Any] = _NOTHING,
    always: Mapping[str, Fill] = _NOTHING,
    inside: Mapping[str, Inner] = _NOTHING,
    then: Fill | None = None,
) -> Fill:
    """Describe the defaults of a struct.

    Args:
        blank: Values for fields that are absent or hold their type's zero: an empty text, 0.
        unset: Values for fields that are absent; a zero that the client wrote stays.
        always: Structs that exist even if the client left them out; they are added.
        inside: Defaults of nested fields, if present.
        then: What comes last and follows no such pattern.
    """
    blanks, unsets, structs = _copies(blank), _copies(unset), tuple(always.items())

    def fill(found: Plain) -> None:
        for key, value, make in blanks:
            # The type's zero counts as unset, because Go cannot tell them apart here.
            if not found.get(key):
                found[key] = value if make is None else make(value)
        for key, value, make in unsets:
            # Go has a pointer here, so that an explicit zero stays.
            if found.get(key) is None:
                found[key] = value if make is None else make(value)
        for key, inner in structs:
            if found.get(key) is None:
                found[key] = {}
            inner(found[key])
        if inside:
            # Most nested fields are absent, so the loop is over the present ones.
            for key, value in found.items():
                if key in inside and value is not None:
                    inside[key](value)
        if then is not None:
            then(found)

    return fill


def _copies(values: Mapping[str, Any]) -> tuple[tuple[str, Any, Callable[[Any], Any] | None], ...]:
    """Pair each value with how it is copied: objects must not share what one of them may change."""
    return tuple(
        (key, value, copy.deepcopy if isinstance(value, (dict, list)) else None) for key, value in values.items()
    )


def for_each(fill: Fill) -> Inner:
    """Set the defaults of every struct of a list."""

    def fill_each(found: list[Plain]) -> None:
        for item in found:
            fill(item)

    return fill_each


def round_up(amounts: Plain) -> None:
    """Round the amounts of a map to thousandths, upwards, and write them canonically."""
    for name, amount in amounts.items():
        rounded = (_round if len(str(amount)) <= _MAX_CACHED_LENGTH else _round_up)(amount)
        if rounded != amount:
            amounts[name] = rounded


_MILLI = 10**6
_MAX_CACHED_LENGTH = 64


@lru_cache(maxsize=1024)
def _round(amount: str | int) -> str:
    return _round_up(amount)


def _round_up(amount: str | int) -> str:
    quantity = Quantity(amount)
    rest = quantity.nanos % _MILLI
    # Nothing to round, but the text may not be canonical.
    if not rest:
        return write_quantity(str(amount))
    # A fraction with a binary suffix prints as a decimal.
    milli = Quantity(f"{quantity.nanos // _MILLI + 1}m")
    exponent = quantity.format is QuantityFormat.DECIMAL_EXPONENT
    return str(milli.to_format(QuantityFormat.DECIMAL_EXPONENT) if exponent else milli)


AMOUNTS: Fill = shape(inside={"limits": round_up, "requests": round_up})
"""A container's or a claim's resources."""


SERVICE_REFERENCE: Final = shape(unset={"port": 443})
"""Defaults of a reference to a Service, such as that of a webhook."""


ROLLING_UPDATE: Final = "RollingUpdate"


def rolling_update(**unset: int | str) -> Fill:
    """Return the defaults of an update strategy: a rolling update with these settings."""
    settings = shape(unset=unset)

    def fill(strategy: Plain) -> None:
        if not strategy.get("type"):
            strategy["type"] = ROLLING_UPDATE
        if strategy["type"] == ROLLING_UPDATE:
            rolling = part(strategy, "rollingUpdate")
            settings(rolling)
            strategy["rollingUpdate"] = rolling

    return fill
