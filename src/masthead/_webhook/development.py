"""Webhooks of a development run: registered by a URL, and restored when the run is over.

The former registration is kept in an annotation of the object, and another annotation is renewed while the run lasts.
A run that was killed is therefore undone by a replica of the cluster or by the next run.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._meta.patch import Patch
from masthead._webhook.configurations import configuration_objects, conversion_of
from masthead._webhook.locations import url_location
from masthead._webhook.registered_kinds import ADMISSION_KINDS, DEFINITION
from masthead.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from masthead._client.client import Client
    from masthead._webhook.configurations import Webhooks
    from masthead._webhook.registered_kinds import RegisteredKind

__all__ = [
    "DEVELOPMENT_SECONDS",
    "REPLACED_ANNOTATION",
    "DevelopmentRegistration",
    "renewal_of",
    "restoring_patch",
]

DEVELOPMENT_SECONDS: Final = 60.0
"""Seconds without a renewal after which a development run counts as gone."""
_RENEW_SECONDS: Final = 20.0
REPLACED_ANNOTATION: Final = "masthead/replaced-webhooks"
"""The former webhooks or conversion as JSON; null if the object is the development run's own."""
_RENEWED_ANNOTATION: Final = "masthead/webhook-url-renewed"
_MISSING: Final = {"service": None, "url": None, "caBundle": None}


def renewal_of(plain: Mapping[str, Any]) -> str | None:
    """Return the last renewal of a development run's registration; None if there is no such registration."""
    annotations: dict[str, str] = plain["metadata"].get("annotations", {})
    return annotations.get(_RENEWED_ANNOTATION, "") if REPLACED_ANNOTATION in annotations else None


def restoring_patch(kind: RegisteredKind, plain: Mapping[str, Any]) -> Patch | None:
    """Return the patch that undoes the registration of a development run.

    It fails with a conflict if someone else has changed the object.

    Args:
        kind: The kind of the object.
        plain: The object.

    Returns:
        None, if the object is to be deleted, or has not been replaced.
    """
    metadata = plain["metadata"]
    former = json.loads(metadata.get("annotations", {}).get(REPLACED_ANNOTATION, "null"))
    if former is None:
        return None
    annotations = {REPLACED_ANNOTATION: None, _RENEWED_ANNOTATION: None}
    head = {"metadata": {"resourceVersion": metadata["resourceVersion"], "annotations": annotations}}
    return Patch.merge({**head, **_content(kind, former)})


def _content(kind: RegisteredKind, content: Any) -> dict[str, Any]:  # noqa: ANN401 - a part of any object
    """Return the merge patch that sets webhooks or a conversion."""
    if kind is not DEFINITION:
        # The whole list, because a webhook cannot have both a service and a URL.
        return {"webhooks": content}
    webhook = content.get("webhook")
    if webhook is not None:
        webhook = {**webhook, "clientConfig": {**_MISSING, **webhook.get("clientConfig", {})}}
    return {"spec": {"conversion": {**content, "webhook": webhook}}}


class DevelopmentRegistration:
    """Registers a development server by its URL, and restores the former configuration at the end.

    Args:
        client: The client of the cluster.
        webhooks: The declared webhooks.
        name: The name of the configurations.
        url: The URL at which API servers reach this process.
        clock: The current time.
    """

    def __init__(self, client: Client, webhooks: Webhooks, name: str, url: str, clock: Callable[[], datetime]) -> None:
        self._client = client
        self._webhooks = webhooks
        self._name = name
        self._url = url
        self._clock = clock
        self._bundle: bytes | None = None
        self._registered: set[tuple[RegisteredKind, str]] = set()

    async def update(self, bundle: bytes) -> list[str]:
        """Create or replace the configurations and the conversions of definitions, and renew them.

        Raises:
            MastheadError: If an object cannot be written.
        """
        if bundle == self._bundle:
            renewed = {"metadata": {"annotations": self._renewed()}}
            for kind, name in self._registered:
                await self._client.dynamic(kind.resource).patch(name, Patch.merge(renewed))
            return []
        locate = url_location(self._url, bundle)
        for wanted in configuration_objects(self._webhooks, {"name": self._name}, locate):
            kind = next(kind for kind in ADMISSION_KINDS.values() if kind.kind == wanted["kind"])
            await self._register(kind, self._name, wanted["webhooks"])
        for definition in self._webhooks.definition_names():
            await self._register(DEFINITION, definition, conversion_of(locate))
        self._bundle = bundle
        return []

    def seconds_to_next(self) -> float:
        """Return the seconds until the next renewal."""
        return _RENEW_SECONDS

    async def close(self) -> None:
        """Remove the registration: calls to an ended process would fail every request.

        Raises:
            MastheadError: If an object cannot be written.
        """
        for kind, name in self._registered:
            resource = self._client.dynamic(kind.resource)
            found = (await resource.get(name)).to_dict()
            patch = restoring_patch(kind, found)
            if patch is not None:
                await resource.patch(name, patch)
            elif renewal_of(found) is not None:
                await resource.delete(name)

    def _renewed(self) -> dict[str, str]:
        return {_RENEWED_ANNOTATION: self._clock().isoformat()}

    async def _register(self, kind: RegisteredKind, name: str, content: object) -> None:
        resource = self._client.dynamic(kind.resource)
        annotations = self._renewed()
        try:
            found = (await resource.get(name)).to_dict()
        except NotFoundError:
            if kind is DEFINITION:
                raise
            metadata = {"name": name, "annotations": {**annotations, REPLACED_ANNOTATION: "null"}}
            await resource.create({**kind.head(name), "metadata": metadata, "webhooks": content})
        else:
            # A killed run has left the former content, and its own URL.
            if renewal_of(found) is None:
                annotations[REPLACED_ANNOTATION] = json.dumps(_former(kind, found), separators=(",", ":"))
            await resource.patch(
                name, Patch.merge({"metadata": {"annotations": annotations}, **_content(kind, content)})
            )
        self._registered.add((kind, name))


def _former(kind: RegisteredKind, found: Mapping[str, Any]) -> object:
    if kind is DEFINITION:
        return found["spec"].get("conversion", {"strategy": "None"})
    return cast("list[object]", found.get("webhooks", []))
