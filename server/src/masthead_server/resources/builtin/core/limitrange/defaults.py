"""Defaults of LimitRanges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import each, round_up, shape
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill
    from masthead_server.wire.plain import Plain


def _fill_limits(limit: Plain) -> None:
    if limit.get("type") != "Container":
        return
    # Without a default, the maximum is the limit; without a default request, the limit is requested.
    default = {**part(limit, "max"), **part(limit, "default")}
    request = {**part(limit, "min"), **default, **part(limit, "defaultRequest")}
    for name, amounts in (("default", default), ("defaultRequest", request)):
        if amounts:
            limit[name] = amounts


_LIMIT_SIDES: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def _fill_limit(limit: Plain) -> None:
    _fill_limits(limit)
    for side in _LIMIT_SIDES:
        round_up(part(limit, side))


DEFAULTS: Final[Fill] = shape(inside={"spec": shape(inside={"limits": each(_fill_limit)})})
