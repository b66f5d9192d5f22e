"""The decorators of a manager that declare webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from masthead._controller.declarations import kind_of
from masthead._module import set_module
from masthead._webhook.configurations import Webhooks
from masthead._webhook.conversions import ConversionSpec
from masthead._webhook.declarations import AdmissionWebhook
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Unpack

    from masthead._controller.declarations import KindLike
    from masthead._customresource.resource import CustomResource
    from masthead._webhook.declarations import WebhookOptions, WebhookRole
    from masthead._webhook.rotation import RotationPolicy

__all__ = ["WebhookDecorators"]

F = TypeVar("F", bound="Callable[..., object]")


@set_module("masthead.webhook")
class WebhookDecorators:
    """The webhooks of a manager, and the decorators that declare them."""

    def __init__(self, certificates: RotationPolicy | None) -> None:
        self._admission: list[AdmissionWebhook] = []
        self._conversions: list[ConversionSpec] = []
        self._rotation = certificates

    @property
    def webhooks(self) -> Webhooks:
        """The declared webhooks."""
        return Webhooks(tuple(self._admission), tuple(self._conversions))

    @property
    def webhook_certificates(self) -> RotationPolicy | None:
        """The lifetimes of the certificates of webhooks; None for the default."""
        return self._rotation

    def validate(self, kind: KindLike, **options: Unpack[WebhookOptions]) -> Callable[[F], F]:
        """Register a validating webhook: a function that admits or refuses requests.

        ::

            @app.validate(Website)
            def check(
                request: masthead.webhook.AdmissionRequest[Website], site: Website
            ) -> list[masthead.webhook.FieldError]:
                if request.old is not None and request.old.spec.image != site.spec.image:
                    return [masthead.webhook.forbidden("spec.image", "cannot be changed")]
                if site.spec.replicas > 50:
                    request.warn("more than 50 replicas are expensive")
                return []

        The function returns or yields field errors, or raises `masthead.webhook.DeniedError`. Any other exception is a
        failure of the webhook, and `failure_policy` decides about the request. A coroutine function runs on the event
        loop, a plain one in a thread. For a deletion, the object is the stored one. A third argument is a client.

        Args:
            kind: The kind of the objects: a class, or a resource such as ``apps/v1/deployments``.
            options: The options of `masthead.webhook.AdmissionWebhook`.

        Raises:
            ArgumentError: If an argument is invalid, or there is a webhook of that name.
            SelectorError: If a selector is invalid.
            UnknownKindError: If a class has no resource.
        """
        return self._register("validate", kind, options)

    def mutate(self, kind: KindLike, **options: Unpack[WebhookOptions]) -> Callable[[F], F]:
        """Register a mutating webhook: a function that changes objects before they are stored.

        ::

            @app.mutate(Website)
            def fill_in(request: masthead.webhook.AdmissionRequest[Website], site: Website) -> None:
                site.metadata.labels.setdefault("owner", request.user.username)

        The function edits the object, or returns a changed one; the patch is computed. It must be idempotent, because
        the API server may call it more than once. It may refuse a request as a validation does.

        Args:
            kind: The kind of the objects: a class, or a resource such as ``apps/v1/deployments``.
            options: The options of `masthead.webhook.AdmissionWebhook`.

        Raises:
            ArgumentError: If an argument is invalid, or there is a webhook of that name.
            SelectorError: If a selector is invalid.
            UnknownKindError: If a class has no resource.
        """
        return self._register("mutate", kind, options)

    def convert(self, source: type[CustomResource], target: type[CustomResource]) -> Callable[[F], F]:
        """Register a conversion between two versions of a custom resource.

        The function takes an object of the source class and returns one of the target class, such as
        ``Website.new(spec=...)``; a coroutine function or a plain one.

        Every served version needs a conversion to the storage version and back; the others go through it. Metadata is
        copied from the source; only labels and annotations may be changed. A conversion must lose nothing: keep fields
        that a version lacks in an annotation.

        Args:
            source: The class of the objects to convert.
            target: The class of the converted objects.

        Raises:
            ArgumentError: If the classes are not versions of one custom resource, or the conversion exists.
        """

        def register(function: F) -> F:
            spec = ConversionSpec(source, target, cast("Callable[[Any], object]", function))
            if any((known.source, known.target) == (source, target) for known in self._conversions):
                raise ArgumentError(f"there is a conversion from {source.GVK} to {target.GVK.version} already")
            self._conversions.append(spec)
            return function

        return register

    def _register(self, role: WebhookRole, kind: KindLike, options: WebhookOptions) -> Callable[[F], F]:
        # Checked before the decorator is called: without a kind, it would replace the function by a decorator.
        checked = kind_of(kind)

        def register(function: F) -> F:
            webhook = AdmissionWebhook(role, function, checked, **options)
            if any((known.role, known.name) == (role, webhook.name) for known in self._admission):
                raise ArgumentError(
                    f"there is a webhook {webhook.name!r} already; give this one another name=...", value=webhook.name
                )
            self._admission.append(webhook)
            return function

        return register
