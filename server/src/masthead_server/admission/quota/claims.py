"""What claims of volumes and of devices use of a quota."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quantity import Quantity
from masthead_server.admission.quota.evaluators import ONE, Evaluator
from masthead_server.admission.quota.scopes import is_claim_in_scope
from masthead_server.resources.amounts import Amounts, add_amounts, raise_amounts, read_amounts
from masthead_server.resources.builtin.core.pod.pod_level_resources import read_resources
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from datetime import datetime

    from masthead_server.admission.quota.scopes import Scope
    from masthead_server.wire.plain import Plain

__all__ = ["DeviceClaimEvaluator", "VolumeClaimEvaluator"]

_CLAIMS: Final = "persistentvolumeclaims"
_STORAGE: Final = "requests.storage"
_BY_CLASS: Final = ".storageclass.storage.k8s.io/"
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_DEVICES: Final = ".deviceclass.resource.k8s.io/devices"
_MAX_DEVICES: Final = 32
"""The most devices that one claim can get."""


class VolumeClaimEvaluator(Evaluator):
    """Measures the storage of claims, in all and by storage class."""

    counts_updates = True
    subresources = frozenset({"status"})

    def measures(self, name: str) -> bool:
        """Tell whether a limit is about claims."""
        return (
            name in self.counted
            or name in {_CLAIMS, _STORAGE}
            or name.endswith((_BY_CLASS + _CLAIMS, _BY_CLASS + _STORAGE))
        )

    def is_in_scope(self, scope: Scope, found: Plain) -> bool:
        """Tell whether a claim is in a scope."""
        return is_claim_in_scope(scope, found)

    def measure(self, found: Plain, now: datetime) -> Amounts:  # noqa: ARG002 - of `Evaluator`
        """Return what a claim uses."""
        usage = {**dict.fromkeys(self.counted, ONE), _CLAIMS: ONE}
        annotations = part(part(found, "metadata"), "annotations")
        # The annotation came before the field, and takes precedence.
        storage_class = annotations.get(_CLASS_ANNOTATION, text(part(found, "spec"), "storageClassName"))
        amounts = read_resources(part(found, "spec"), "requests")
        if "storage" in amounts:
            raise_amounts(amounts, read_amounts(part(found, "status"), "allocatedResources"))
            usage[_STORAGE] = _round_up(amounts["storage"])
        if storage_class:
            usage |= {f"{storage_class}{_BY_CLASS}{name}": usage[name] for name in (_CLAIMS, _STORAGE) if name in usage}
        return usage


def _round_up(quantity: Quantity) -> Quantity:
    """Round storage up to whole bytes."""
    return quantity if quantity.nanos % 10**9 == 0 else Quantity(quantity.value()).to_format(quantity.format)


class DeviceClaimEvaluator(Evaluator):
    """Counts the devices of resource claims by device class."""

    counts_updates = True

    def measures(self, name: str) -> bool:
        """Tell whether a limit is about resource claims."""
        return name in self.counted or name.endswith(_DEVICES)

    def measure(self, found: Plain, now: datetime) -> Amounts:  # noqa: ARG002 - of `Evaluator`
        """Return what a claim uses; of alternatives, the most devices of each class."""
        usage = dict.fromkeys(self.counted, ONE)
        for request in items(part(part(found, "spec"), "devices"), "requests"):
            alternatives = items(request, "firstAvailable") or [part(request, "exactly")]
            most: Amounts = {}
            for alternative in alternatives:
                if device_class := text(alternative, "deviceClassName"):
                    raise_amounts(most, {f"{device_class}{_DEVICES}": _count_devices(alternative)})
            add_amounts(usage, most)
        return usage


def _count_devices(request: Plain) -> Quantity:
    match text(request, "allocationMode"):
        case "ExactCount":
            return Quantity(request.get("count", 0))
        case "All":
            return Quantity(_MAX_DEVICES)
        case _:
            return Quantity(0)
