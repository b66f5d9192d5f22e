"""Tells API servers where webhooks are and which authorities to trust."""

from __future__ import annotations

import asyncio
import base64
import logging
import math
from typing import TYPE_CHECKING, Any, Final, Protocol

from masthead._cache.informer.handlers import EventHandler
from masthead._meta.patch import Patch
from masthead._sansio.backoff import Backoff
from masthead._sansio.randomness import random
from masthead._webhook.development import DEVELOPMENT_SECONDS, renewal_of, restoring_patch
from masthead._webhook.locations import FIELD_MANAGER
from masthead._webhook.registered_kinds import ADMISSION_KINDS, DEFINITION, client_configs
from masthead.errors import DeadlineError, InformerStateError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._cache.factory.factory import SharedInformerFactory
    from masthead._cache.informer.informer import SharedInformer
    from masthead._client.client import Client
    from masthead._meta.object import Object
    from masthead._meta.unstructured import Unstructured
    from masthead._webhook.configurations import Webhooks
    from masthead._webhook.registered_kinds import RegisteredKind

__all__ = ["BundleInjector", "NoRegistration", "WebhookRegistration"]

_log: Final = logging.getLogger("masthead.webhook")
_SYNC_SECONDS: Final = 5.0
"""Seconds to wait for the first list of an object, before that counts as a problem."""
_CALM_SECONDS: Final = 600.0
"""Seconds without a foreign change until the delays of injections start again."""


class WebhookRegistration(Protocol):
    """Makes API servers trust the webhook server."""

    async def update(self, bundle: bytes) -> list[str]:
        """Announce the trusted authorities; return the remaining problems, empty if all is in place."""
        ...

    def seconds_to_next(self) -> float:
        """Return the seconds until the next `update`, if nothing changes before."""
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

    def seconds_to_next(self) -> float:
        """Return no limit."""
        return math.inf

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

    It applies only those fields (server-side apply), and again when someone else has changed them, but ever more
    rarely. It leaves objects with another Service or a URL alone.

    Args:
        client: The client of the cluster.
        factory: Watches the objects; their informers are created here.
        webhooks: The declared webhooks.
        name: The name of the configurations.
        service: The namespace and the name of the Service of this manager.
        on_change: Called when an object has changed.
    """

    def __init__(
        self,
        client: Client,
        factory: SharedInformerFactory,
        webhooks: Webhooks,
        name: str,
        service: tuple[str, str],
        on_change: Callable[[], None],
    ) -> None:
        targets = [
            (kind, name)
            for role, kind in ADMISSION_KINDS.items()
            if any(webhook.role == role for webhook in webhooks.admission)
        ]
        targets += [(DEFINITION, definition) for definition in webhooks.definition_names()]
        ours = frozenset(webhook.name for webhook in webhooks.admission)
        self._targets: list[_Target] = []
        for kind, object_name in targets:
            only = {"metadata.name": object_name}
            informer = factory.dynamic(kind.resource, namespace="", field_selector=only).informer
            informer.add_event_handler(_ChangeHandler(on_change))
            self._targets.append(_Target(client, kind, object_name, informer, ours, service))

    async def update(self, bundle: bytes) -> list[str]:
        """Write the bundle where it is missing; return the problems.

        Raises:
            MastheadError: If an object cannot be written.
        """
        problems = [await target.update(bundle) for target in self._targets]
        return [problem for problem in problems if problem]

    def seconds_to_next(self) -> float:
        """Return the seconds until the next delayed injection."""
        now = asyncio.get_running_loop().time()
        return max(0.0, min(target.next_at for target in self._targets) - now)

    async def close(self) -> None:
        """No-op: the configurations stay, other replicas serve them."""


class _Target:
    """One object with bundles.

    Attributes:
        next_at: The time of the next attempt, in seconds of the loop; infinite if only a change matters.
    """

    def __init__(
        self,
        client: Client,
        kind: RegisteredKind,
        name: str,
        informer: SharedInformer[Unstructured],
        ours: frozenset[str],
        service: tuple[str, str],
    ) -> None:
        self._resource = client.dynamic(kind.resource)
        self._kind = kind
        self._name = name
        self._title = f"{kind.kind} {name}"
        self._informer = informer
        self._ours = ours
        self._service = service
        self.next_at = math.inf
        self._written = ""
        self._base_version: str = ""
        self._allowed_at = 0.0
        self._backoff = Backoff(first=1.0, cap=300.0)
        self._has_warned = False
        self._renewal: str = ""
        self._renewal_seen = 0.0

    async def update(self, bundle: bytes) -> str:
        """Write the bundle if it is missing; return the problem."""
        self.next_at = math.inf
        try:
            await self._informer.wait_for_cache_sync(_SYNC_SECONDS)
        except (DeadlineError, InformerStateError) as error:
            # An object that does not exist causes no event after the sync.
            self.next_at = asyncio.get_running_loop().time() + _SYNC_SECONDS
            return f"{self._title} is not read yet: {error}"
        found = self._informer.indexer.get_by_key(self._name)
        if found is None:
            return f"{self._title} does not exist; apply the output of `masthead manifests`"
        plain = found.to_dict()
        configs = client_configs(self._kind, plain, self._ours)
        if not configs:
            return f"{self._title} does not name this webhook server; apply the output of `masthead manifests`"
        if any("url" in config for config in configs.values()):
            return await self._wait_for_development(plain)
        for config in configs.values():
            service = config.get("service", {})
            named = service.get("namespace", ""), service.get("name", "")
            if named != self._service:
                return self._explain_service(named)
        encoded = base64.b64encode(bundle).decode()
        if any(config.get("caBundle") != encoded for config in configs.values()):
            await self._inject(plain, configs, encoded)
        return ""

    async def _inject(self, plain: Mapping[str, Any], configs: Mapping[str, Any], encoded: str) -> None:
        version: str = plain["metadata"]["resourceVersion"]
        if encoded == self._written:
            if version == self._base_version:
                return  # the informer has not seen our own write yet
            now = asyncio.get_running_loop().time()
            if now < self._allowed_at:
                self._warn(plain)
                self.next_at = self._allowed_at
                return
            if now - self._allowed_at > _CALM_SECONDS:
                self._backoff.reset()
            self._allowed_at = now + self._backoff.next(now, random)
        patch = Patch.apply({**self._kind.head(self._name), **self._kind.bundles(configs, encoded)})
        await self._resource.patch(self._name, patch, field_manager=FIELD_MANAGER, force=True)
        self._written, self._base_version = encoded, version

    def _warn(self, plain: Mapping[str, Any]) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning(
                "%s: %s changes the caBundle that this manager writes; it is written again after 1 s to 5 min. Let "
                "only one of them manage it: stop the other, or run this manager with --webhook-cert-dir or with "
                "--webhook-bind 0",
                self._title,
                _other_writer(plain),
            )

    def _explain_service(self, named: tuple[str, str]) -> str:
        namespace, service = self._service
        return (
            f"{self._title} names the Service {'/'.join(named)}, not {namespace}/{service} of this manager, and is "
            f"left alone; run in the namespace {named[0]}, or without webhooks: --webhook-bind 0"
        )

    async def _wait_for_development(self, plain: Mapping[str, Any]) -> str:
        """Leave a URL alone; restore that of a development run if the run no longer renews it."""
        renewal = renewal_of(plain)
        if renewal is None:
            return ""  # the URL of the user
        now = asyncio.get_running_loop().time()
        if renewal != self._renewal:
            # The times of other machines are not comparable: only a change counts.
            self._renewal, self._renewal_seen = renewal, now
        if now - self._renewal_seen < DEVELOPMENT_SECONDS:
            self.next_at = self._renewal_seen + DEVELOPMENT_SECONDS
            return ""
        patch = restoring_patch(self._kind, plain)
        if patch is None:
            return (
                f"{self._title} was created by a development run that is gone; delete it, and apply the output of "
                "`masthead manifests`"
            )
        _log.warning("%s had the URL of a development run that is gone; it is restored", self._title)
        await self._resource.patch(self._name, patch)
        return ""


def _other_writer(plain: Mapping[str, Any]) -> str:
    """Return the field manager of a foreign bundle."""
    entries = plain["metadata"].get("managedFields", [])
    owners = {entry["manager"] for entry in entries if "caBundle" in str(entry.get("fieldsV1"))} - {FIELD_MANAGER}
    # A removed bundle has no owner, and another manager of this library has our field manager.
    return f"the field manager {' or '.join(map(repr, sorted(owners)))}" if owners else "another client"
