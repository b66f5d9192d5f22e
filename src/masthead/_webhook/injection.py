"""Tells API servers where webhooks are and which authorities to trust."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast

from masthead._cache.informer.handlers import EventHandler
from masthead._meta.gvk import GroupVersionResource
from masthead._meta.patch import Patch
from masthead._webhook.configurations import configuration_objects, conversion_of
from masthead._webhook.locations import FIELD_MANAGER, url_location
from masthead.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._cache.factory.factory import SharedInformerFactory
    from masthead._cache.informer.informer import SharedInformer
    from masthead._client.client import Client
    from masthead._meta.object import Object
    from masthead._meta.unstructured import Unstructured
    from masthead._webhook.configurations import Webhooks

__all__ = ["BundleInjector", "DevelopmentRegistration", "NoRegistration", "WebhookRegistration"]

_ADMISSION: Final = "admissionregistration.k8s.io"


class _Kind(NamedTuple):
    """A kind with bundles."""

    resource: GroupVersionResource
    kind: str

    def head(self, name: str) -> dict[str, object]:
        """Return the beginning of an object."""
        version = f"{self.resource.group}/{self.resource.version}"
        return {"apiVersion": version, "kind": self.kind, "metadata": {"name": name}}


_DEFINITION: Final = _Kind(
    GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions"), "CustomResourceDefinition"
)
_KINDS: Final = {
    "mutate": _Kind(
        GroupVersionResource(_ADMISSION, "v1", "mutatingwebhookconfigurations"), "MutatingWebhookConfiguration"
    ),
    "validate": _Kind(
        GroupVersionResource(_ADMISSION, "v1", "validatingwebhookconfigurations"), "ValidatingWebhookConfiguration"
    ),
}


class WebhookRegistration(Protocol):
    """Makes API servers trust the webhook server."""

    async def update(self, bundle: bytes) -> list[str]:
        """Announce the trusted authorities; return the remaining problems, empty if all is in place."""
        ...

    async def close(self) -> None:
        """End the registration."""
        ...


class NoRegistration:
    """For certificates of cert-manager or the user, who tells API servers about their authorities."""

    async def update(self, bundle: bytes) -> list[str]:
        """Return no problems."""
        del bundle
        return []

    async def close(self) -> None:
        """No-op."""


class _ChangeHandler(EventHandler["Object"]):
    """Calls a function whenever an object changes."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change

    def on_add(self, obj: Object, is_initial: bool) -> None:  # noqa: ARG002 - any change
        self._on_change()

    def on_update(self, old: Object, new: Object) -> None:  # noqa: ARG002 - any change
        self._on_change()

    def on_delete(self, obj: Object, final_state_known: bool) -> None:  # noqa: ARG002 - any change
        self._on_change()


class BundleInjector:
    """Writes the ``caBundle`` into the configurations and definitions that ``masthead manifests`` has written.

    It applies only those fields (server-side apply), and again when someone else has removed them.

    Args:
        client: The client of the cluster.
        factory: Watches the objects; their informers are created here.
        webhooks: The declared webhooks.
        name: The name of the configurations.
        on_change: Called when an object has changed.
    """

    def __init__(
        self,
        client: Client,
        factory: SharedInformerFactory,
        webhooks: Webhooks,
        name: str,
        on_change: Callable[[], None],
    ) -> None:
        self._client = client
        self._webhooks = webhooks
        self._informers: list[tuple[_Kind, str, SharedInformer[Unstructured]]] = []
        targets = [
            (kind, name) for role, kind in _KINDS.items() if any(webhook.role == role for webhook in webhooks.admission)
        ]
        targets += [(_DEFINITION, definition) for definition in webhooks.definition_names()]
        for kind, object_name in targets:
            only = {"metadata.name": object_name}
            informer = factory.dynamic(kind.resource, namespace="", field_selector=only).informer
            informer.add_event_handler(_ChangeHandler(on_change))
            self._informers.append((kind, object_name, informer))

    async def update(self, bundle: bytes) -> list[str]:
        """Write the bundle where it is missing; return the problems.

        Raises:
            MastheadError: If an object cannot be written.
        """
        problems = [await self._update_one(kind, name, informer, bundle) for kind, name, informer in self._informers]
        return [problem for problem in problems if problem]

    async def close(self) -> None:
        """No-op: the configurations stay, other replicas serve them."""

    async def _update_one(self, kind: _Kind, name: str, informer: SharedInformer[Unstructured], bundle: bytes) -> str:
        title = f"{kind.kind} {name}"
        if not informer.has_synced:
            return f"{title} is not read yet"
        found = informer.indexer.get_by_key(name)
        if found is None:
            return f"{title} does not exist; apply the output of `masthead manifests`"
        plain = found.to_dict()
        is_definition = kind is _DEFINITION
        wanted = _definition_patch(plain, bundle) if is_definition else self._configuration_patch(plain, bundle)
        if wanted is None:
            return f"{title} does not name this webhook server; apply the output of `masthead manifests`"
        if not wanted:
            return ""
        patch = Patch.apply({**kind.head(name), **wanted})
        await self._client.dynamic(kind.resource).patch(name, patch, field_manager=FIELD_MANAGER, force=True)
        return ""

    def _configuration_patch(self, plain: Mapping[str, Any], bundle: bytes) -> dict[str, Any] | None:
        """Return the fields to apply, empty if they are there; None if the object has none of our webhooks."""
        encoded = base64.b64encode(bundle).decode()
        ours = {webhook.name for webhook in self._webhooks.admission}
        listed = [webhook for webhook in plain.get("webhooks", []) if webhook["name"] in ours]
        if not listed:
            return None
        if all(webhook["clientConfig"].get("caBundle") == encoded for webhook in listed):
            return {}
        return {"webhooks": [{"name": webhook["name"], "clientConfig": {"caBundle": encoded}} for webhook in listed]}


def _definition_patch(plain: Mapping[str, Any], bundle: bytes) -> dict[str, Any] | None:
    """Return the fields to apply, empty if they are there; None if the definition has no webhook."""
    encoded = base64.b64encode(bundle).decode()
    conversion = plain["spec"].get("conversion", {})
    if conversion.get("strategy") != "Webhook":
        return None
    if conversion["webhook"].get("clientConfig", {}).get("caBundle") == encoded:
        return {}
    return {"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": encoded}}}}}


class DevelopmentRegistration:
    """Registers a development server by its URL, and restores the former configuration at the end.

    Args:
        client: The client of the cluster.
        webhooks: The declared webhooks.
        name: The name of the configurations.
        url: The URL at which API servers reach this process.
    """

    def __init__(self, client: Client, webhooks: Webhooks, name: str, url: str) -> None:
        self._client = client
        self._webhooks = webhooks
        self._name = name
        self._url = url
        self._bundle: bytes | None = None
        self._replaced: dict[_Kind, list[Any] | None] = {}
        self._conversions: dict[str, Any] = {}

    async def update(self, bundle: bytes) -> list[str]:
        """Create or replace the configurations and the conversions of definitions.

        Raises:
            MastheadError: If an object cannot be written.
        """
        if bundle == self._bundle:
            return []
        locate = url_location(self._url, bundle)
        for wanted in configuration_objects(self._webhooks, {"name": self._name}, locate):
            kind = next(kind for kind in _KINDS.values() if kind.kind == wanted["kind"])
            await self._replace(kind, cast("list[Any]", wanted["webhooks"]))
        for definition in self._webhooks.definition_names():
            await self._convert(definition, conversion_of(locate))
        self._bundle = bundle
        return []

    async def close(self) -> None:
        """Remove the registration: calls to an ended process would fail every request.

        Raises:
            MastheadError: If an object cannot be written.
        """
        for kind, before in self._replaced.items():
            resource = self._client.dynamic(kind.resource)
            if before is None:
                await resource.delete(self._name)
            else:
                await resource.patch(self._name, Patch.merge({"webhooks": before}))
        definitions = self._client.dynamic(_DEFINITION.resource)
        for definition, conversion in self._conversions.items():
            await definitions.patch(definition, _set_conversion(conversion))

    async def _replace(self, kind: _Kind, wanted: list[Any]) -> None:
        resource = self._client.dynamic(kind.resource)
        try:
            found = (await resource.get(self._name)).to_dict()
        except NotFoundError:
            self._replaced.setdefault(kind, None)
            await resource.create({**kind.head(self._name), "webhooks": wanted})
            return
        self._replaced.setdefault(kind, found.get("webhooks", []))
        # The whole list, because a webhook cannot have both a service and a URL.
        await resource.patch(self._name, Patch.merge({"webhooks": wanted}))

    async def _convert(self, definition: str, conversion: dict[str, object]) -> None:
        definitions = self._client.dynamic(_DEFINITION.resource)
        found = (await definitions.get(definition)).to_dict()
        self._conversions.setdefault(definition, found["spec"].get("conversion", {"strategy": "None"}))
        await definitions.patch(definition, _set_conversion(conversion))


def _set_conversion(conversion: object) -> Patch:
    # Not a merge patch, which would keep fields of the former conversion.
    return Patch.json([{"op": "add", "path": "/spec/conversion", "value": conversion}])
