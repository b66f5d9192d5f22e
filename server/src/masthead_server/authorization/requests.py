"""Authorization of requests: their attributes, and the refusal of what a user may not do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.authorization.always_allow import AlwaysAllow
from masthead_server.authorization.authorizer import AuthorizationAttributes
from masthead_server.wire.failures import StatusFailure, details_of, qualified
from masthead_server.wire.request import unescape
from masthead_server.wire.user_info import is_unauthenticated

if TYPE_CHECKING:
    from masthead_server.authorization.authorizer import Authorizer
    from masthead_server.wire.request import ApiRequest
    from masthead_server.wire.request_info import RequestInfo
    from masthead_server.wire.user_info import UserInfo

__all__ = ["authorize_request", "check_authorization", "forbidden", "read_attributes"]

_SANITIZED: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""No refusal looks like HTML to a browser."""


def authorize_request(authorizer: Authorizer, user: UserInfo, request: ApiRequest, info: RequestInfo) -> None:
    """Refuse a request that its user may not send.

    Raises:
        StatusFailure: If it is refused.
    """
    # Nearly every server has this authorizer, and pays nothing for attributes that it ignores.
    if type(authorizer) is AlwaysAllow and not is_unauthenticated(user):
        return
    check_authorization(authorizer, read_attributes(user, request, info))


def check_authorization(authorizer: Authorizer, attributes: AuthorizationAttributes) -> None:
    """Refuse what an authorizer does not allow.

    Raises:
        StatusFailure: If it is refused.
    """
    outcome = authorizer.authorize(attributes)
    if not outcome.is_allowed:
        raise forbidden(attributes, outcome.reason)


def read_attributes(user: UserInfo, request: ApiRequest, info: RequestInfo) -> AuthorizationAttributes:
    """Return what authorization sees of a request."""
    return AuthorizationAttributes(
        user=user,
        verb=info.verb,
        namespace=info.namespace,
        group=info.group,
        version=info.version,
        resource=info.resource,
        subresource=info.subresource,
        name=info.name,
        path=unescape(request.path),
        field_selector=request.first("fieldSelector"),
        label_selector=request.first("labelSelector"),
    )


def forbidden(attributes: AuthorizationAttributes, reason: str = "") -> StatusFailure:
    """Return the refusal of a request, in the words of kube-apiserver."""
    problem = _describe(attributes).translate(_SANITIZED)
    if reason:
        problem = f"{problem}: {reason}"
    if not attributes.is_resource_request:
        return StatusFailure(403, "Forbidden", f"forbidden: {problem}", details={})
    name, group, resource = attributes.name, attributes.group, attributes.resource
    subject = f"{qualified(group, resource)}{f' {quoted(name)}' if name else ''}"
    details = details_of(name, group, resource)
    return StatusFailure(403, "Forbidden", f"{subject} is forbidden: {problem}", details=details)


def _describe(attributes: AuthorizationAttributes) -> str:
    user = f"User {quoted(attributes.user.name)} cannot {attributes.verb}"
    if not attributes.is_resource_request:
        return f"{user} path {quoted(attributes.path)}"
    parts = (attributes.resource, attributes.subresource) if attributes.subresource else (attributes.resource,)
    namespace = attributes.namespace
    where = f"in the namespace {quoted(namespace)}" if namespace else "at the cluster scope"
    return f"{user} resource {quoted('/'.join(parts))} in API group {quoted(attributes.group)} {where}"
