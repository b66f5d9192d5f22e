"""Conversion by webhook; see `masthead_server.resources.custom.conversions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead_server.resources.custom.conversion_review import (
    ConversionError,
    ConversionRequest,
    choose_version,
)
from masthead_server.resources.custom.conversions import ConversionKey, ConversionPending, Conversions
from masthead_server.resources.webhook_clients import webhook_of
from masthead_server.threads import compute_in_thread
from masthead_server.webhooks import WebhookError, call_webhook
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.resources.custom.definition import Definition, DefinitionVersion
    from masthead_server.resources.webhook_clients import ServiceResolver, VirtualTime

__all__ = ["WebhookConverter"]

_LARGE: Final = 256 * 1024
"""Bytes above which a response is decoded in a thread."""
_encode: Final = msgspec.json.Encoder(order="sorted").encode


class WebhookConverter:
    """Converts objects by the webhook of a definition.

    Args:
        definition: The definition.
        resolve: Returns where a service is, given its namespace, name and port.
        now: The time of a virtual clock; None for the real time.
        new_uid: Returns the uid of a request.
    """

    def __init__(
        self, definition: Definition, resolve: ServiceResolver, now: VirtualTime | None, new_uid: Callable[[], str]
    ) -> None:
        webhook = part(definition.conversion, "webhook")
        self._webhook = webhook_of(part(webhook, "clientConfig"), resolve, now)
        self._new_uid = new_uid
        self._review_versions: list[str] = webhook.get("conversionReviewVersions") or []

    def convert(self, found: Plain, source: DefinitionVersion, target: DefinitionVersion) -> Plain:
        """Return an object in another version, if the webhook has converted it.

        Raises:
            ConversionPending: If the webhook has to be called first.
            StatusFailure: If the webhook has failed.
        """
        self.require([found], source, target)
        key, _ = _identify(found, source, target)
        results = Conversions.current()
        outcome = results.find(key) if results is not None else None
        if isinstance(outcome, ConversionError):
            raise StatusFailure(500, "", str(outcome))
        converted = cast("Plain", msgspec.json.decode(_encode(outcome)))
        # The webhook does not see the version, which changes with every write.
        if version := text(part(found, "metadata"), "resourceVersion"):
            converted["metadata"]["resourceVersion"] = version
        return {name: value for name, value in converted.items() if name not in {"kind", "apiVersion"}}

    def require(self, objects: list[Plain], source: DefinitionVersion, target: DefinitionVersion) -> None:
        """Make sure that the webhook has converted objects.

        Raises:
            ConversionPending: If it has to be called first.
        """
        results = Conversions.current()
        identified = dict(_identify(obj, source, target) for obj in objects)
        missing = {key: value for key, value in identified.items() if results is None or results.find(key) is None}
        if missing:
            raise ConversionPending(self, missing, target.gvk.api_version)

    async def call(self, objects: list[Plain], target: str) -> list[Plain]:
        """Have objects of one version converted to another.

        Raises:
            ConversionError: If the webhook cannot be called, or if its response is invalid.
        """
        version = choose_version(self._review_versions)
        request = ConversionRequest(self._new_uid(), version, target, objects)
        try:
            body = await call_webhook(self._webhook, request.encode())
        except WebhookError as error:
            raise request.failure(str(error)) from None
        if len(body) > _LARGE:
            return await compute_in_thread(request.read, body)
        return request.read(body)


def _identify(found: Plain, source: DefinitionVersion, target: DefinitionVersion) -> tuple[ConversionKey, Plain]:
    """Return what identifies a conversion, and the object as the webhook gets it."""
    metadata = {key: value for key, value in part(found, "metadata").items() if key != "resourceVersion"}
    gvk = source.gvk
    whole = {**found, "apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata}
    return (target.name, _encode(whole)), whole
