"""Validation of the status of ResourceClaims."""

from __future__ import annotations

from functools import partial
from ipaddress import IPv6Interface
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead._schema.errors import duplicate, forbidden, invalid, required, too_long, too_many
from masthead_server.resources.builtin.resource.checks import (
    binding_errors,
    driver_errors,
    itself,
    list_errors,
    parameters_errors,
    pool_errors,
    share_id_errors,
    short_name_errors,
)
from masthead_server.resources.builtin.resource.claim_validation import (
    MAX_CONFIG,
    RequestNames,
    config_errors,
    request_list_errors,
)
from masthead_server.resources.validation.addresses import parse_interface
from masthead_server.resources.validation.checks import IMMUTABLE, one_of, same_structs
from masthead_server.resources.validation.internal_types import inner
from masthead_server.resources.validation.pod_affinity import node_selector_errors
from masthead_server.resources.validation.status import condition_errors
from masthead_server.wire.plain import is_being_deleted, items, part, text

if TYPE_CHECKING:
    from ipaddress import IPv4Interface

    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_MAX_CONSUMERS: Final = 256
_MAX_RESULTS: Final = 32
_MAX_CONDITIONS: Final = 8
_MAX_DATA_LENGTH: Final = 10 * 1024
_MAX_ADDRESSES: Final = 16
_MAX_LENGTHS: Final = {"interfaceName": 256, "hardwareAddress": 128}
_DEVICE_KEYS: Final = ("driver", "pool", "device", "shareID")


def drop_deallocated(new: Plain, old: Plain) -> None:
    """Remove the status of devices that were allocated before and are not any more."""
    status = part(new, "status")
    gone = _allocated(part(old, "status")) - _allocated(status)
    if gone and status.get("devices"):
        status["devices"] = [device for device in items(status, "devices") if _identity(device) not in gone]
        if not status["devices"]:
            del status["devices"]


def status_errors(new: Plain, old: Plain) -> Errors:
    """Validate the status of a claim."""
    status, before = part(new, "status"), part(old, "status")
    errors = list_errors(
        status, "reservedFor", "status", _MAX_CONSUMERS, _consumer_errors, lambda user: text(user, "uid")
    )
    check = partial(_device_errors, allocated=_allocated(status))
    errors += list_errors(status, "devices", "status", -1, check)
    errors += _repeated_devices(status)
    errors += _reservation_errors(status, before, is_deleted=is_being_deleted(new))
    allocation, earlier = status.get("allocation"), before.get("allocation")
    if allocation is None:
        return errors
    # An allocation never changes, so that only a new one is validated.
    if earlier is None:
        return errors + _allocation_errors(allocation, "status.allocation", RequestNames(part(new, "spec")))
    if not same_structs(allocation, earlier):
        errors.append(invalid("status.allocation", inner("AllocationResult", allocation), IMMUTABLE))
    return errors


def _identity(device: Plain) -> tuple[str, ...]:
    return tuple(text(device, key) for key in _DEVICE_KEYS)


def _allocated(status: Plain) -> set[tuple[str, ...]]:
    results = items(part(part(status, "allocation"), "devices"), "results")
    return {_identity(result) for result in results}


def _consumer_errors(consumer: Plain, path: str) -> Errors:
    return [required(f"{path}.{field}") for field in ("resource", "name", "uid") if not consumer.get(field)]


def _show_identity(device: Plain) -> Plain:
    """Show a device as kube-apiserver's messages do."""
    return {key[0].upper() + key[1:]: text(device, key) for key in _DEVICE_KEYS}


def _repeated_devices(status: Plain) -> Errors:
    errors: Errors = []
    seen: set[tuple[str, ...]] = set()
    for index, device in enumerate(items(status, "devices")):
        if _identity(device) in seen:
            errors.append(duplicate(f"status.devices[{index}]", _show_identity(device)))
        seen.add(_identity(device))
    return errors


def _reservation_errors(status: Plain, before: Plain, *, is_deleted: bool) -> Errors:
    consumers = items(status, "reservedFor")
    if not consumers:
        return []
    if status.get("allocation") is None:
        return [forbidden("status.reservedFor", "may not be specified when `allocated` is not set")]
    if is_deleted and any(consumer not in items(before, "reservedFor") for consumer in consumers):
        why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        return [forbidden("status.reservedFor", why)]
    return []


def _device_errors(device: Plain, path: str, allocated: set[tuple[str, ...]]) -> Errors:
    errors = driver_errors(f"{path}.driver", text(device, "driver"))
    errors += pool_errors(f"{path}.pool", text(device, "pool"))
    errors += short_name_errors(f"{path}.device", text(device, "device"))
    if device.get("shareID") is not None:
        errors += share_id_errors(f"{path}.shareID", device["shareID"])
    if _identity(device) not in allocated:
        errors.append(invalid(path, _show_identity(device), "must be an allocated device in the claim"))
    count = len(items(device, "conditions"))
    if count > _MAX_CONDITIONS:
        errors.append(too_many(f"{path}.conditions", count, _MAX_CONDITIONS))
    errors += condition_errors(device, path)
    if device.get("data") is not None:
        errors += parameters_errors(f"{path}.data", device, "data", _MAX_DATA_LENGTH)
    return errors + _network_errors(part(device, "networkData"), f"{path}.networkData")


def _network_errors(network: Plain, path: str) -> Errors:
    errors: Errors = []
    for field, limit in _MAX_LENGTHS.items():
        if len(text(network, field).encode()) > limit:
            errors.append(too_long(f"{path}.{field}", limit))
    return errors + list_errors(network, "ips", path, _MAX_ADDRESSES, _address_errors, itself)


def _address_errors(address: str, path: str) -> Errors:
    interface = parse_interface(address)
    if interface is None:
        why = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        return [invalid(path, address, why)]
    canonical = _write_canonical(interface)
    return [] if canonical == address else [invalid(path, address, f"must be in canonical form ({quoted(canonical)})")]


def _write_canonical(interface: IPv4Interface | IPv6Interface) -> str:
    length = interface.network.prefixlen
    mapped = interface.ip.ipv4_mapped if isinstance(interface, IPv6Interface) else None
    if mapped is not None:
        return f"{mapped}/{length - 96 if length > 32 else length}"
    return f"{interface.ip}/{length}"


def _allocation_errors(allocation: Plain, path: str, known: RequestNames) -> Errors:
    devices, at = part(allocation, "devices"), f"{path}.devices"
    errors = list_errors(devices, "results", at, _MAX_RESULTS, partial(_result_errors, known=known))
    errors += list_errors(devices, "config", at, 2 * MAX_CONFIG, partial(_config_errors, known=known))
    if allocation.get("nodeSelector") is not None:
        errors += node_selector_errors(f"{path}.nodeSelector", part(allocation, "nodeSelector"))
    return errors


def _result_errors(result: Plain, path: str, known: RequestNames) -> Errors:
    errors = known.reference_errors(text(result, "request"), f"{path}.request")
    errors += driver_errors(f"{path}.driver", text(result, "driver"))
    errors += pool_errors(f"{path}.pool", text(result, "pool"))
    errors += short_name_errors(f"{path}.device", text(result, "device"))
    errors += binding_errors(result, path)
    if result.get("shareID") is not None:
        errors += share_id_errors(f"{path}.shareID", result["shareID"])
    return errors


def _config_errors(config: Plain, path: str, known: RequestNames) -> Errors:
    errors = one_of(f"{path}.source", text(config, "source"), ("FromClaim", "FromClass"))
    return errors + request_list_errors(config, path, known) + config_errors(config, path)
