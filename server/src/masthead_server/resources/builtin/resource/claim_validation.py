"""Validation of the device requests in ResourceClaims and their templates."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import SlowValidation
from masthead_server.resources.builtin.resource.checks import (
    driver_errors,
    full_name_errors,
    itself,
    list_errors,
    name_of,
    parameters_errors,
    short_name_errors,
    toleration_errors,
)
from masthead_server.resources.builtin.resource.selectors import selector_list_errors
from masthead_server.resources.validation.checks import each_of, given, unsupported
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

MAX_REQUESTS: Final = 32
MAX_CONFIG: Final = 32
_MAX_CONSTRAINTS: Final = 32
_MAX_ALTERNATIVES: Final = 8
_MAX_PARAMETERS_LENGTH: Final = 10 * 1024
_MAX_LOOP_EXPRESSIONS: Final = 2_000
"""Characters of expressions that are compiled on the event loop: some ten milliseconds."""
_UNKNOWN_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)


class RequestNames:
    """The names of a claim's requests and of their alternatives.

    Args:
        spec: The spec of the claim.
    """

    def __init__(self, spec: Plain) -> None:
        self._names: dict[str, set[str]] = {}
        for request in items(part(spec, "devices"), "requests"):
            self._names[name_of(request)] = {name_of(option) for option in items(request, "firstAvailable")}

    def reference_errors(self, name: str, path: str) -> Errors:
        """Validate the name of a request, or of a request and an alternative with a slash between them."""
        segments = name.split("/")
        if len(segments) > 2:
            return [invalid(path, name, _UNKNOWN_REQUEST)]
        errors = [error for segment in segments for error in short_name_errors(path, segment)]
        return errors if self._has(segments) else [*errors, invalid(path, name, _UNKNOWN_REQUEST)]

    def _has(self, segments: list[str]) -> bool:
        options = self._names.get(segments[0])
        return options is not None and (len(segments) == 1 or segments[1] in options)


def check_expressions(found: object, find: Callable[[], Errors]) -> Errors:
    """Validate what contains CEL expressions.

    Raises:
        SlowValidation: If the expressions are long enough to hold the event loop.
    """
    if sum(map(len, _expressions(found))) > _MAX_LOOP_EXPRESSIONS:
        raise SlowValidation(find)
    return find()


def _expressions(found: object) -> Iterator[str]:
    if isinstance(found, dict):
        for name, value in found.items():  # pyright: ignore[reportUnknownVariableType]
            if name == "expression" and isinstance(value, str):
                yield value
            else:
                yield from _expressions(value)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(found, list):
        for item in found:  # pyright: ignore[reportUnknownVariableType]
            yield from _expressions(item)  # pyright: ignore[reportUnknownArgumentType]


def claim_spec_errors(spec: Plain, path: str) -> Errors:
    """Validate the spec of a claim."""
    devices, at, known = part(spec, "devices"), f"{path}.devices", RequestNames(spec)
    errors = list_errors(devices, "requests", at, MAX_REQUESTS, _request_errors, name_of)
    errors += list_errors(devices, "constraints", at, _MAX_CONSTRAINTS, partial(_constraint_errors, known=known))
    return errors + list_errors(devices, "config", at, MAX_CONFIG, partial(_claim_config_errors, known=known))


def _request_errors(request: Plain, path: str) -> Errors:
    errors = short_name_errors(f"{path}.name", name_of(request))
    exact, options = request.get("exactly"), request.get("firstAvailable")
    if exact is not None and options:
        why = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
        return [*errors, invalid(path, None, why)]
    if exact is not None:
        return errors + _device_errors(exact, f"{path}.exactly")
    if options:
        return errors + list_errors(request, "firstAvailable", path, _MAX_ALTERNATIVES, _option_errors, name_of)
    return [*errors, required(path, "exactly one of `exactly` or `firstAvailable` is required")]


def _option_errors(option: Plain, path: str) -> Errors:
    return short_name_errors(f"{path}.name", name_of(option)) + _device_errors(option, path)


def _device_errors(request: Plain, path: str) -> Errors:
    errors = given(f"{path}.deviceClassName", text(request, "deviceClassName"), names.SUBDOMAIN)
    errors += selector_list_errors(request, path)
    mode, count = text(request, "allocationMode"), request.get("count") or 0
    if mode == "All":
        if count:
            errors.append(invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'"))
    elif mode == "ExactCount":
        if count <= 0:
            errors.append(invalid(f"{path}.count", count, "must be greater than zero"))
    else:
        errors.append(unsupported(f"{path}.allocationMode", mode, ("All", "ExactCount")))
    for at, toleration in each_of(request, "tolerations", path):
        errors += toleration_errors(toleration, at)
    return errors


def request_list_errors(owner: Plain, path: str, known: RequestNames) -> Errors:
    """Validate a list of the names of requests."""
    return list_errors(owner, "requests", path, MAX_REQUESTS, known.reference_errors, itself)


def _constraint_errors(constraint: Plain, path: str, known: RequestNames) -> Errors:
    errors = request_list_errors(constraint, path, known)
    for field in ("matchAttribute", "distinctAttribute"):
        if constraint.get(field) is not None:
            return errors + full_name_errors(f"{path}.{field}", constraint[field])
    # The message is kube-apiserver's, which has this text where no field is set.
    why = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    return [*errors, required(path, why)]


def _claim_config_errors(config: Plain, path: str, known: RequestNames) -> Errors:
    return request_list_errors(config, path, known) + config_errors(config, path)


def config_errors(config: Plain, path: str, *, is_stored: bool = False) -> Errors:
    """Validate the configuration of a driver."""
    opaque = config.get("opaque")
    if opaque is None:
        return [required(f"{path}.opaque")]
    errors = driver_errors(f"{path}.opaque.driver", text(opaque, "driver"))
    limit = None if is_stored else _MAX_PARAMETERS_LENGTH
    return errors + parameters_errors(f"{path}.opaque.parameters", opaque, "parameters", limit)
