"""What is questionable about what administrators make: nodes, quotas, accounts, admission."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quantity import Quantity
from masthead._server.resources.warnings.addresses import network_warnings
from masthead._server.resources.behavior import ADMISSION, WarningHooks, always
from masthead._server.resources.warnings.node_labels import DEPRECATED
from masthead._server.wire.failures import quoted
from masthead._server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead._server.wire.plain import Plain

_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"
_STATIC: Final = ".static.k8s.io"
_QUOTAS: Final = (
    (("requests.cpu", "cpu"), "limits.cpu"),
    (("requests.memory", "memory"), "limits.memory"),
    (("requests.ephemeral-storage",), "limits.ephemeral-storage"),
)
"""Under which names requests may be bounded, and the name of the limit that should be higher."""


def _node(obj: Plain) -> list[str]:
    spec = part(obj, "spec")
    found: list[str] = []
    if spec.get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for index, value in enumerate(spec.get("podCIDRs") or ()):
        found += network_warnings(f"spec.podCIDRs[{index}]", value)
    return found


def _quota(obj: Plain) -> list[str]:
    hard = part(part(obj, "spec"), "hard")
    found: list[str] = []
    for names, limit in _QUOTAS:
        name = next((each for each in names if each in hard), None)
        if name is None or limit not in hard:
            continue
        requested, most = Quantity(hard[name]), Quantity(hard[limit])
        if requested > most:
            found.append(f"ResourceQuota {name} ({requested}) should be less than {limit} ({most})")
    return found


def _account(new: Plain) -> list[str]:
    if _MOUNTABLE not in part(part(new, "metadata"), "annotations"):
        return []
    why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    return [f"metadata.annotations[{_MOUNTABLE}]: {why}"]


def _account_change(new: Plain, old: Plain) -> list[str]:
    return [] if _account(old) else _account(new)


def _runtime_class(obj: Plain) -> list[str]:
    selector = part(part(obj, "scheduling"), "nodeSelector")
    return [f"scheduling.nodeSelector: {DEPRECATED[key]}" for key in selector if key in DEPRECATED]


def _resource_slice(obj: Plain) -> list[str]:
    driver = text(part(obj, "spec"), "driver")
    if driver == driver.lower():
        return []
    why = f"driver names should be lowercase; {quoted(driver)} contains uppercase characters"
    return [f"spec.driver: {why}"]


def _admission(obj: Plain) -> list[str]:
    if not text(part(obj, "metadata"), "name").endswith(_STATIC):
        return []
    why = "are reserved for static manifest-based configurations and cannot be managed via the API"
    return [f"metadata.name: names ending with {quoted(_STATIC)} {why}"]


WARNINGS: Final = {
    "nodes": always(_node),
    "resourcequotas": WarningHooks(_quota),
    "serviceaccounts": WarningHooks(_account, _account_change),
    "runtimeclasses": always(_runtime_class),
    "resourceslices": always(_resource_slice),
    **dict.fromkeys(ADMISSION, always(_admission)),
}
"""What is said of each kind, by its resource."""
