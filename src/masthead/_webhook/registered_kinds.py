"""The kinds of objects that name a webhook server: configurations and definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from masthead._meta.gvk import GroupVersionResource

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from masthead._webhook.declarations import WebhookRole

__all__ = ["ADMISSION_KINDS", "DEFINITION", "RegisteredKind", "client_configs"]

_ADMISSION: Final = "admissionregistration.k8s.io"


class RegisteredKind(NamedTuple):
    """A kind with bundles.

    Attributes:
        resource: Its resource.
        kind: Its name.
    """

    resource: GroupVersionResource
    kind: str

    def head(self, name: str) -> dict[str, object]:
        """Return the beginning of an object."""
        version = f"{self.resource.group}/{self.resource.version}"
        return {"apiVersion": version, "kind": self.kind, "metadata": {"name": name}}

    def bundles(self, names: Iterable[str], encoded: str) -> dict[str, object]:
        """Return the fields with the bundle, for server-side apply."""
        config = {"caBundle": encoded}
        if self is DEFINITION:
            return {"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": config}}}}
        return {"webhooks": [{"name": name, "clientConfig": config} for name in names]}


DEFINITION: Final = RegisteredKind(
    GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions"), "CustomResourceDefinition"
)
ADMISSION_KINDS: Final[dict[WebhookRole, RegisteredKind]] = {
    "mutate": RegisteredKind(
        GroupVersionResource(_ADMISSION, "v1", "mutatingwebhookconfigurations"), "MutatingWebhookConfiguration"
    ),
    "validate": RegisteredKind(
        GroupVersionResource(_ADMISSION, "v1", "validatingwebhookconfigurations"), "ValidatingWebhookConfiguration"
    ),
}


def client_configs(kind: RegisteredKind, plain: Mapping[str, Any], ours: AbstractSet[str]) -> dict[str, dict[str, Any]]:
    """Return each ``clientConfig`` of an object by the name of its webhook; that of a definition has no name.

    Args:
        kind: The kind of the object.
        plain: The object.
        ours: The names of the webhooks that count.
    """
    if kind is not DEFINITION:
        listed = plain.get("webhooks", [])
        return {webhook["name"]: webhook["clientConfig"] for webhook in listed if webhook["name"] in ours}
    conversion = plain["spec"].get("conversion", {})
    return {"": conversion["webhook"].get("clientConfig", {})} if conversion.get("strategy") == "Webhook" else {}
