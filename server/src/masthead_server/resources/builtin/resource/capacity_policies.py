"""Validation of request policies: which amounts of a device's capacity a claim may request."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources.builtin.resource.checks import list_errors
from masthead_server.resources.validation.checks import amount

if TYPE_CHECKING:
    from masthead._meta.quantity import Quantity
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_MAX_VALUES: Final = 10
_NANO: Final = 10**9


def capacity_errors(capacity: Plain, path: str, *, is_shared: bool) -> Errors:
    """Validate one capacity of a device; only a device that is shared has a policy."""
    policy = capacity.get("requestPolicy")
    if policy is None:
        return []
    at = f"{path}.requestPolicy"
    if not is_shared:
        return [forbidden(at, "allowMultipleAllocations must be true")]
    has_values, has_range = bool(policy.get("validValues")), policy.get("validRange") is not None
    if has_values and has_range:
        why = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        return [forbidden(at, why)]
    if not has_values and not has_range:
        return []
    field = "validValues" if has_values else "validRange"
    if policy.get("default") is None:
        return [required(f"{at}.default", f"required when {field} is defined")]
    default, most = amount(policy["default"]), amount(capacity.get("value"))
    if has_values:
        return _value_errors(policy, at, default, most)
    return _range_errors(policy["validRange"], f"{at}.validRange", default, most)


def _value_errors(policy: Plain, path: str, default: Quantity, most: Quantity) -> Errors:
    at, values = f"{path}.validValues", [amount(value) for value in policy["validValues"]]
    errors: Errors = []
    for index, (value, following) in enumerate(itertools.pairwise(values), 1):
        if value > following:
            errors.append(invalid(f"{at}[{index}]", str(following), "values must be sorted in ascending order"))
    errors += list_errors(policy, "validValues", path, _MAX_VALUES, partial(_option_errors, most=most), _whole_key)
    # A list that is too long is not searched.
    if len(values) > _MAX_VALUES or default not in values:
        errors.append(invalid(at, str(default), "default value is not valid according to the requestPolicy"))
    return errors


def _option_errors(option: object, path: str, most: Quantity) -> Errors:
    if amount(option) <= most:
        return []
    return [invalid(path, str(amount(option)), f"option is larger than capacity value: {most}")]


def _whole_key(option: object) -> str:
    return str(_whole(amount(option)))


def _whole(quantity: Quantity) -> int:
    """Return a quantity as an integer, rounded up."""
    return -(-quantity.nanos // _NANO)


def _range_errors(limits: Plain, path: str, default: Quantity, most: Quantity) -> Errors:
    if limits.get("min") is None:
        return [required(f"{path}.min", "required when validRange is defined")]
    low = amount(limits["min"])
    errors: Errors = []
    if low > most:
        errors.append(invalid(f"{path}.min", str(low), f"min is larger than capacity value: {most}"))
    if default < low:
        errors.append(invalid(f"{path}.min", str(default), f"default is less than min: {low}"))
    high = None
    if limits.get("max") is not None:
        high = amount(limits["max"])
        if low > high:
            errors.append(invalid(f"{path}.max", str(low), f"min is larger than max: {high}"))
        if high > most:
            errors.append(invalid(f"{path}.max", str(high), f"max is larger than capacity value: {most}"))
        if default > high:
            errors.append(invalid(f"{path}.max", str(default), f"default is more than max: {high}"))
    if limits.get("step") is None:
        return errors
    return errors + _step_errors(amount(limits["step"]), f"{path}.step", (default, high), low, most)


def _step_errors(
    step: Quantity, path: str, reached: tuple[Quantity, Quantity | None], low: Quantity, most: Quantity
) -> Errors:
    errors: Errors = []
    first = low + step
    if first > most:
        errors.append(invalid(path, str(step), f"one step {first} is larger than capacity value: {most}"))
    for value in reached:
        # A step of zero makes kube-apiserver panic; here nothing is a multiple of it.
        if value is not None and (not _whole(step) or (_whole(value) - _whole(low)) % _whole(step)):
            why = f"value is not a multiple of a given step ({step}) from ({low})"
            errors.append(invalid(path, str(value), why))
    return errors
