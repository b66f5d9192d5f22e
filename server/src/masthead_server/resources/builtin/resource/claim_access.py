"""Permissions that writes of claims need besides those for the request itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from masthead._schema.errors import forbidden
from masthead_server.resources import names
from masthead_server.resources.validation.checks import same_structs
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.resources.behavior import AccessChecks, Errors
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.user_info import UserInfo

_ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"
_NODE_NAME: Final = "authentication.kubernetes.io/node-name"
_DEVICE_KEYS: Final = ("driver", "pool", "device", "shareID")


def claim_access_errors(new: Plain, old: Plain | None, access: AccessChecks) -> Errors:
    """Return what the user may not ask for in a claim or its status."""
    # A stored claim was checked when it was created: its spec is immutable.
    if old is None:
        return request_access_errors(part(new, "spec"), access)
    after, before = part(new, "status"), part(old, "status")
    errors = _granted_errors(after, before, access) + _binding_errors(after, before, access)
    return errors + (_driver_errors(after, before, access) if after.get("allocation") is not None else [])


def request_access_errors(spec: Plain, access: AccessChecks) -> Errors:
    """Return what the user may not request in the spec of a claim."""
    requests = items(part(spec, "devices"), "requests")
    flags = (part(request, "exactly").get("adminAccess") for request in requests)
    return _admin_errors(flags, "spec.devices.requests", access)


def _admin_errors(flags: Iterable[object], path: str, access: AccessChecks) -> Errors:
    """Require the label of the namespace for the first device with admin access."""
    index = next((index for index, flag in enumerate(flags) if flag is True), None)
    if index is None or access.namespace_labels().get(_ADMIN_LABEL) == "true":
        return []
    why = f"admin access to devices requires the `{_ADMIN_LABEL}: true` label on the containing namespace"
    return [forbidden(f"{path}[{index}].adminAccess", why)]


def _results(status: Plain) -> list[Plain]:
    return items(part(part(status, "allocation"), "devices"), "results")


def _granted_errors(after: Plain, before: Plain, access: AccessChecks) -> Errors:
    if any(result.get("adminAccess") is True for result in _results(before)):
        return []
    flags = (result.get("adminAccess") for result in _results(after))
    return _admin_errors(flags, "status.allocation.devices.results", access)


def _binding_errors(after: Plain, before: Plain, access: AccessChecks) -> Errors:
    """Require the permission of the scheduler for a change of the allocation."""
    if all(same_structs(after.get(field), before.get(field)) for field in ("allocation", "reservedFor")):
        return []
    refusal = access.find_refusal(access.verb, "binding")
    if not refusal:
        return []
    needed = f'resource="resourceclaims/binding", verb="{access.verb}"'
    why = f"changing status.allocation or status.reservedFor requires {needed} permission: {refusal}"
    return [forbidden("status.allocation", why)]


def _driver_errors(after: Plain, before: Plain, access: AccessChecks) -> Errors:
    """Require the permission of a driver for a change of the status of its devices."""
    verbs = [f"arbitrary-node:{access.verb}"]
    if _runs_on(access.user, _selected_node(part(part(after, "allocation"), "nodeSelector"))):
        verbs.insert(0, f"associated-node:{access.verb}")
    errors: Errors = []
    for driver in sorted(_changed_drivers(after, before)):
        refusals = [access.find_refusal(verb, "driver", name=driver, in_namespace=True) for verb in verbs]
        if all(refusals):
            needed = f'resource="resourceclaims/driver", verb="[{" ".join(verbs)}]"'
            why = f"changing status.devices requires {needed} permission: {refusals[0]}"
            errors.append(forbidden("status.devices", why))
    return errors


def _changed_drivers(after: Plain, before: Plain) -> set[str]:
    now, then = ({_key(device): device for device in items(status, "devices")} for status in (after, before))
    return {
        key[0]
        for key in now.keys() | then.keys()
        if key not in now or key not in then or not same_structs(now[key], then[key])
    }


def _key(device: Plain) -> tuple[str, ...]:
    return tuple(text(device, name) for name in _DEVICE_KEYS)


def _selected_node(selector: Plain) -> str:
    """Return the only node of an allocation; empty if its selector is more than a name."""
    match selector:
        case {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} as term
            ]
        }:
            return "" if cast("Plain", term).get("matchExpressions") else cast("str", name)
        case _:
            return ""


def _runs_on(user: UserInfo, node: str) -> bool:
    """Tell whether a service account's token is bound to a pod on a node."""
    nodes = user.extra.get(_NODE_NAME, ())
    is_account = user.name.startswith("system:serviceaccount:")
    return bool(node) and is_account and nodes == (node,) and not names.SUBDOMAIN(node)
