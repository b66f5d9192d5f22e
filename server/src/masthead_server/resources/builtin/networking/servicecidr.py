"""ServiceCIDRs: validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.validation.addresses import cidr_errors
from masthead_server.resources.validation.checks import IMMUTABLE, words
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_PATH = "spec.cidrs"


def cidr_object_errors(service_cidr: Plain) -> Errors:
    """Return the errors of a ServiceCIDR."""
    networks = _networks(service_cidr)
    if not networks:
        return [required(_PATH, "at least one CIDR required")]
    # The networks themselves are not checked: kube-apiserver returns here.
    if len(networks) > 2:
        return [invalid(_PATH, {"CIDRs": networks}, "may only hold up to 2 values")]
    errors: Errors = []
    for index, network in enumerate(networks):
        errors += cidr_errors(f"{_PATH}[{index}]", network)
    is_v6 = [":" in cidr for cidr in networks if not cidr_errors("", cidr)]
    if is_v6 in ([True, True], [False, False]):
        why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        errors.append(invalid(_PATH, networks, why))
    return errors


def cidr_object_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a ServiceCIDR: a network of the other family may be added."""
    now, then = _networks(new), _networks(old)
    # Existing networks were valid; only an added one is validated.
    if len(now) == len(then):
        return [
            invalid(f"{_PATH}[{index}]", network, IMMUTABLE)
            for index, (network, before) in enumerate(zip(now, then, strict=True))
            if network != before
        ]
    if (len(then), len(now)) != (1, 2):
        return [invalid(_PATH, now, IMMUTABLE)]
    changed = [invalid(f"{_PATH}[0]", now[0], IMMUTABLE)] if now[0] != then[0] else []
    return changed + cidr_object_errors(new)


def _networks(service_cidr: Plain) -> list[str]:
    return words(part(service_cidr, "spec"), "cidrs")


BEHAVIOR: Final = Behavior(hooks=StrategyHooks(validate_create=cidr_object_errors, validate_update=cidr_object_changes))
