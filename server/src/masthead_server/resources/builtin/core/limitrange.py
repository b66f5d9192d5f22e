"""LimitRanges: defaults and validation."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import duplicate, forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.defaulting.fill import for_each, round_up, shape
from masthead_server.resources.validation.checks import amount, each_of, follows
from masthead_server.resources.validation.resource_requirements import (
    container_name_errors,
    may_overcommit,
    name_errors,
)
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain


def _fill_limits(limit: Plain) -> None:
    if limit.get("type") != "Container":
        return
    # Without a default, the maximum is the limit; without a default request, the limit is requested.
    default = {**part(limit, "max"), **part(limit, "default")}
    # The minimum is the last resort: a default limit takes precedence over it.
    request = {**part(limit, "min"), **default, **part(limit, "defaultRequest")}
    for name, amounts in (("default", default), ("defaultRequest", request)):
        if amounts:
            limit[name] = amounts


_LIMIT_SIDES: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def _fill_limit(limit: Plain) -> None:
    _fill_limits(limit)
    for side in _LIMIT_SIDES:
        round_up(part(limit, side))


DEFAULTS: Final[Fill] = shape(inside={"spec": shape(inside={"limits": for_each(_fill_limit)})})

_LIMITED: Final = frozenset({"Pod", "Container", "PersistentVolumeClaim"})
_ORDERED: Final = (
    ("min", "min", "max", "min value {} is greater than max value {}"),
    ("defaultRequest", "min", "defaultRequest", "min value {} is greater than default request value {}"),
    ("defaultRequest", "defaultRequest", "max", "default request value {} is greater than max value {}"),
    (
        "defaultRequest",
        "defaultRequest",
        "default",
        "default request value {} is greater than default limit value {}",
    ),
    ("default", "min", "default", "min value {} is greater than default value {}"),
    ("default", "default", "max", "default value {} is greater than max value {}"),
)
"""Where it is said, what must not be greater than what, and the words for it."""
_SHOWN: Final = {
    ("default", "default", "max"): "max",
    ("defaultRequest", "min", "defaultRequest"): "defaultRequest",
}
"""Which of the two amounts a message shows, where it is not the greater one."""


def limit_range_errors(limit_range: Plain) -> Errors:
    """Return the errors of a LimitRange."""
    errors: Errors = []
    seen: set[str] = set()
    for at, limit in each_of(part(limit_range, "spec"), "limits", "spec"):
        kind = text(limit, "type")
        wrong = follows(f"{at}.type", kind, names.qualified_name)
        if not wrong and "/" not in kind and kind not in _LIMITED:
            why = "must be a standard limit type or fully qualified"
            wrong = [invalid(f"{at}.type", kind, why)]
        errors += wrong
        if kind in seen:
            errors.append(duplicate(f"{at}.type", kind))
        seen.add(kind)
        errors += _limit_errors(limit, at, kind)
    return errors


def _limit_errors(limit: Plain, path: str, kind: str) -> Errors:
    errors: Errors = []
    # Claims and custom types may limit resources that no container has.
    check = container_name_errors if kind in {"Pod", "Container"} else name_errors
    sides = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
    for side in sides:
        # Defaults are set in containers; a pod has none to set.
        if kind == "Pod" and side.startswith("default"):
            if limit.get(side):
                errors.append(forbidden(f"{path}.{side}", "may not be specified when `type` is 'Pod'"))
            # The names in forbidden defaults are not checked.
            continue
        for name in part(limit, side):
            errors += check(f"{path}.{side}[{name}]", name)
    # Claims have no other resource to limit.
    stated = {*part(limit, "min"), *part(limit, "max")}
    if kind == "PersistentVolumeClaim" and "storage" not in stated:
        why = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(f"{path}.limits", why))
    # Each resource once, in the order of its first mention.
    for name in dict.fromkeys(name for side in sides for name in part(limit, side)):
        errors += _order_errors(limit, path, name)
    return errors


def _order_errors(limit: Plain, path: str, name: str) -> Errors:
    errors: Errors = []
    for place, low, high, why in _ORDERED:
        less, more = part(limit, low).get(name), part(limit, high).get(name)
        if less is not None and more is not None and amount(less) > amount(more):
            shown = part(limit, _SHOWN.get((place, low, high), low)).get(name)
            detail = why.format(amount(less), amount(more))
            errors.append(invalid(f"{path}.{place}[{name}]", shown, detail))
    ratio = part(limit, "maxLimitRequestRatio").get(name)
    # A limit below the request is impossible, so that a ratio below 1 could never be met.
    if ratio is not None and amount(ratio) < 1:
        at = f"{path}.maxLimitRequestRatio[{name}]"
        errors.append(invalid(at, ratio, f"ratio {amount(ratio)} is less than 1"))
    return errors + _ratio_errors(limit, path, name) + _overcommit_errors(limit, path, name)


def _ratio_errors(limit: Plain, path: str, name: str) -> Errors:
    """Refuse a ratio that no limit and request within the bounds can reach."""
    sides = (part(limit, side).get(name) for side in ("maxLimitRequestRatio", "min", "max"))
    ratio, least, most = (None if text is None else amount(text) for text in sides)
    if ratio is None or not least or most is None or ratio * least.nanos <= most * 10**9:
        return []
    at = f"{path}.maxLimitRequestRatio[{name}]"
    why = f"ratio {ratio} is greater than max/min = {most.nanos / least.nanos:f}"
    return [invalid(at, str(ratio), why)]


def _overcommit_errors(limit: Plain, path: str, name: str) -> Errors:
    """Refuse different defaults of a resource whose request and limit must be equal."""
    default, request = part(limit, "default").get(name), part(limit, "defaultRequest").get(name)
    if may_overcommit(name) or default is None or request is None or amount(default) == amount(request):
        return []
    why = f"default value {amount(default)} must equal to defaultRequest value {amount(request)} in {name}"
    return [invalid(f"{path}.defaultRequest[{name}]", request, why)]


def _name(limits: Plain, _allocate: Allocator) -> None:
    """Generate a missing name; no other kind does that."""
    meta = limits["metadata"]
    if not meta.get("name"):
        # Derived from the uid, so that a seeded server generates the same name again.
        meta["name"] = str(uuid.uuid5(uuid.UUID(meta["uid"]), "name"))


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=_name,
        validate_create=limit_range_errors,
        validate_update=lambda new, _old: limit_range_errors(new),
    ),
)
