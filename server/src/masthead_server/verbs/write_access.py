"""What a write asks the authorizer: attributes of its request, and the questions of validation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from masthead_server.authorization.authorizer import AuthorizationAttributes
from masthead_server.authorization.requests import check_authorization
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.verbs.write_context import WriteContext
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.user_info import UserInfo

__all__ = ["WriteAccess", "authorization_attributes"]


def authorization_attributes(context: WriteContext, verb: str) -> AuthorizationAttributes:
    """Return what authorization sees of a write, with another verb."""
    served = context.served
    return AuthorizationAttributes(
        context.user,
        verb,
        # As for every request, a Namespace counts as an object within itself.
        namespace=context.name if served.table == "namespaces" else context.namespace,
        group=served.group,
        version=served.gvk.version,
        resource=served.name,
        subresource=context.subresource,
        name=context.name,
    )


class WriteAccess:
    """Answers what a validation asks about the cluster and the user.

    Args:
        context: The write.
        verb: The verb of the request.
    """

    def __init__(self, context: WriteContext, verb: str) -> None:
        self._context = context
        self.verb = verb

    @property
    def user(self) -> UserInfo:
        """Who writes."""
        return self._context.user

    def namespace_labels(self) -> Plain:
        """Return the labels of the object's namespace."""
        namespace = self._context.namespace
        for found in self._context.allocator.listed("", "namespaces"):
            if text(part(found, "metadata"), "name") == namespace:
                return part(part(found, "metadata"), "labels")
        return {}

    def find_refusal(self, verb: str, subresource: str, *, name: str = "", in_namespace: bool = False) -> str:
        """Return why the user may not use a subresource; empty if it is allowed."""
        namespace = self._context.namespace if in_namespace else ""
        attributes = replace(
            authorization_attributes(self._context, verb), subresource=subresource, name=name, namespace=namespace
        )
        try:
            check_authorization(self._context.cluster.authorizer, attributes)
        except StatusFailure as refusal:
            return refusal.message
        return ""
