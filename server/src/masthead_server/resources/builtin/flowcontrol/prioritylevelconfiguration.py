"""PriorityLevelConfigurations: defaults and validation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.flowcontrol.cluster_defaults import priority_levels
from masthead_server.resources.builtin.flowcontrol.conditions import condition_errors
from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.validation.checks import between, one_of, same_structs
from masthead_server.resources.validation.internal_types import inner
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

_QUEUING: Final = shape(blank={"handSize": 8, "queues": 64, "queueLengthLimit": 50})
DEFAULTS: Final[Fill] = shape(
    inside={
        "spec": shape(
            inside={
                "limited": shape(
                    unset={"nominalConcurrencyShares": 30, "lendablePercent": 0},
                    inside={"limitResponse": shape(inside={"queuing": _QUEUING})},
                ),
                "exempt": shape(unset={"nominalConcurrencyShares": 0, "lendablePercent": 0}),
            }
        )
    }
)

_EXEMPT: Final = "exempt"
_MANDATORY: Final = frozenset({_EXEMPT, "catch-all"})
_SHARES: Final = "nominalConcurrencyShares"
_ROUND_TRIP_ANNOTATION: Final = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
_MAX_QUEUES: Final = 10_000_000
_MAX_HASH_BITS: Final = 60


def level_errors(level: Plain) -> Errors:
    """Return the errors of a PriorityLevelConfiguration."""
    meta, spec = metadata(level), part(level, "spec")
    errors: Errors = []
    if _ROUND_TRIP_ANNOTATION in part(meta, "annotations"):
        errors.append(forbidden("metadata.annotations", f"annotation '{_ROUND_TRIP_ANNOTATION}' is forbidden"))
    name = text(meta, "name")
    errors += _type_errors(name, spec)
    errors += _fixed_spec_errors(name, spec)
    return errors + condition_errors(level)


def _type_errors(name: str, spec: Plain) -> Errors:
    kind = text(spec, "type")
    errors: Errors = []
    if (name == _EXEMPT) != (kind == "Exempt"):
        errors.append(invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    exempt, limited = spec.get("exempt"), spec.get("limited")
    if kind == "Exempt":
        if limited is not None:
            errors.append(forbidden("spec.limited", "must be nil if the type is not Limited"))
        if exempt is not None:
            errors += _share_errors(exempt, "spec.exempt") + _lending_errors(exempt, "spec.exempt")
        return errors
    if kind == "Limited":
        if exempt is not None:
            errors.append(forbidden("spec.exempt", "must be nil if the type is Limited"))
        if limited is None:
            return [*errors, required("spec.limited", "must not be empty when type is Limited")]
        return errors + _limited_errors(limited, "spec.limited")
    return errors + one_of("spec.type", kind, ("Exempt", "Limited"))


def _share_errors(level: Plain, path: str) -> Errors:
    shares = level.get(_SHARES) or 0
    return [invalid(f"{path}.{_SHARES}", shares, "must be a non-negative integer")] if shares < 0 else []


def _lending_errors(level: Plain, path: str) -> Errors:
    return between(f"{path}.lendablePercent", level.get("lendablePercent"), 0, 100)


def _limited_errors(limited: Plain, path: str) -> Errors:
    errors = _share_errors(limited, path)
    errors += _response_errors(part(limited, "limitResponse"), f"{path}.limitResponse")
    errors += _lending_errors(limited, path)
    borrowing = limited.get("borrowingLimitPercent") or 0
    if borrowing < 0:
        why = "if specified, must be a non-negative integer"
        errors.append(invalid(f"{path}.borrowingLimitPercent", borrowing, why))
    return errors


def _response_errors(response: Plain, path: str) -> Errors:
    kind, queuing = text(response, "type"), response.get("queuing")
    if kind == "Reject":
        why = "must be nil if limited.limitResponse.type is not Limited"
        return [] if queuing is None else [forbidden(f"{path}.queuing", why)]
    if kind == "Queue":
        if queuing is None:
            return [required(f"{path}.queuing", "must not be empty if limited.limitResponse.type is Limited")]
        return _queuing_errors(queuing, f"{path}.queuing")
    return one_of(f"{path}.type", kind, ("Queue", "Reject"))


def _queuing_errors(queuing: Plain, path: str) -> Errors:
    limit, queues, hand = (queuing.get(field) or 0 for field in ("queueLengthLimit", "queues", "handSize"))
    errors: Errors = [] if limit > 0 else [invalid(f"{path}.queueLengthLimit", limit, "must be positive")]
    if queues <= 0:
        errors.append(invalid(f"{path}.queues", queues, "must be positive"))
    elif queues > _MAX_QUEUES:
        errors.append(invalid(f"{path}.queues", queues, f"must not be greater than {_MAX_QUEUES}"))
    if hand <= 0:
        errors.append(invalid(f"{path}.handSize", hand, "must be positive"))
    elif hand > queues:
        errors.append(invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(math.log2(queues) * hand) > _MAX_HASH_BITS:
        why = (
            f"required entropy bits of deckSize {queues} and handSize {hand}"
            f" should not be greater than {_MAX_HASH_BITS}"
        )
        errors.append(invalid(f"{path}.handSize", hand, why))
    return errors


def _fixed_spec_errors(name: str, spec: Plain) -> Errors:
    if name not in _MANDATORY:
        return []
    fixed = _mandatory_specs()[name]
    # The shares of exempt requests are the administrator's to choose.
    changed = spec if name != _EXEMPT else {**spec, "exempt": fixed["exempt"]}
    if same_structs(changed, fixed):
        return []
    scope = " except the 'spec.exempt' field" if name == _EXEMPT else ""
    shown = inner("PriorityLevelSpec", spec)
    return [invalid("spec", shown, f"spec of '{name}'{scope} must equal the fixed value")]


def _mandatory_specs() -> Mapping[str, Plain]:
    """Return the specs that kube-apiserver does not allow to change, by name."""
    return {text(metadata(level), "name"): part(level, "spec") for level in priority_levels()}


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        validate_create=level_errors,
        validate_update=lambda new, _old: level_errors(new),
        validate_status=lambda new, _old: condition_errors(new),
    ),
)
