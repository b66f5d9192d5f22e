"""Authorization of requests: their attributes, and the refusal of what a user may not do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead._meta import fields, labels
from masthead._meta.labels import Operator
from masthead._meta.quoting import quoted
from masthead.errors import SelectorError
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

__all__ = ["authorize_request", "check_authorization", "check_upgrade", "forbidden", "read_attributes"]

_SANITIZED: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""No refusal looks like HTML to a browser."""
_UPGRADES: Final = frozenset({"exec", "attach", "portforward"})
"""The subresources that run something in a pod."""
_VERBS: Final = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_VERBS_IN_PATHS: Final = frozenset({"watch", "proxy"})
"""Verbs of the old form ``/api/v1/watch/pods``."""
_NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})
_GROUP_PATH_LENGTH: Final = 3
"""The segments of ``apis/GROUP/VERSION``, before a resource; of ``api/VERSION/RESOURCE``, with it."""
_VERBS_WITH_SELECTORS: Final = frozenset({"list", "watch", "deletecollection"})


def authorize_request(authorizer: Authorizer, user: UserInfo, request: ApiRequest) -> None:
    """Refuse a request that its user may not send.

    Raises:
        StatusFailure: If it is refused.
    """
    # Nearly every server has this authorizer, and pays nothing for attributes that it ignores.
    if type(authorizer) is AlwaysAllow and not is_unauthenticated(user):
        return
    check_authorization(authorizer, read_attributes(user, request))


def check_authorization(authorizer: Authorizer, attributes: AuthorizationAttributes) -> None:
    """Refuse what an authorizer does not allow.

    Raises:
        StatusFailure: If it is refused.
    """
    outcome = authorizer.authorize(attributes)
    if not outcome.is_allowed:
        raise forbidden(attributes, outcome.reason)


def read_attributes(user: UserInfo, request: ApiRequest) -> AuthorizationAttributes:
    """Return what authorization sees of a request.

    More paths than those of served resources are about a resource here, so that an unknown resource is refused as such.
    """
    path = unescape(request.path)
    parts = path.strip("/").split("/")
    group = ""
    if parts[0] == "apis" and len(parts) > _GROUP_PATH_LENGTH:
        group, parts = parts[1], parts[1:]
    elif parts[0] != "api" or len(parts) < _GROUP_PATH_LENGTH:
        return AuthorizationAttributes(user, request.method.lower(), path=path)
    version, parts = parts[1], parts[2:]
    verb, is_old_form = _VERBS.get(request.method, ""), parts[0] in _VERBS_IN_PATHS
    if is_old_form:
        verb, parts = parts[0], parts[1:]
    namespace = ""
    if len(parts) > 1 and parts[0] == "namespaces":
        # A Namespace counts as an object within itself, so that a Role can permit access to it.
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    resource, name, subresource = (*parts, "", "", "")[:3]
    if not name and verb == "get":
        verb = "watch" if _is_watch(request) else "list"
        # A list of one object is allowed to those who may list that object.
        name = _find_selected_name(request)
    if not name and verb == "delete":
        verb = "deletecollection"
    has_selectors = verb in _VERBS_WITH_SELECTORS and not is_old_form
    return AuthorizationAttributes(
        user=user,
        verb=verb,
        namespace=namespace,
        group=group,
        version=version,
        resource=resource,
        subresource="" if verb == "proxy" else subresource,
        name=name,
        field_selector=request.first("fieldSelector") if has_selectors else "",
        label_selector=request.first("labelSelector") if has_selectors else "",
    )


def _is_watch(request: ApiRequest) -> bool:
    # As Go converts it to a bool: every other value is true, also an empty one.
    return request.query.get("watch", ["false"])[0].lower() not in {"false", "0"}


def _find_selected_name(request: ApiRequest) -> str:
    """Return the name that the field selector of a list requires; empty for none."""
    field_selector = request.first("fieldSelector")
    if "metadata.name" not in field_selector:
        return ""
    # kube-apiserver reads all options or none.
    if not all(_is_number(request.first(option)) for option in ("limit", "timeoutSeconds")):
        return ""
    try:
        labels.parse(request.first("labelSelector"))
        requirements = fields.parse(field_selector).requirements
    except SelectorError:
        return ""
    for requirement in requirements:
        if requirement.key == "metadata.name" and requirement.operator == Operator.EQUALS:
            return requirement.value if _is_path_segment(requirement.value) else ""
    return ""


def _is_number(text: str) -> bool:
    return not text or text.removeprefix("-").removeprefix("+").isdecimal()


def _is_path_segment(name: str) -> bool:
    """Tell whether a name can be part of a path."""
    return name not in {".", ".."} and "/" not in name and "%" not in name


def check_upgrade(authorizer: Authorizer, request: ApiRequest, info: RequestInfo) -> None:
    """Refuse to run something in a pod to those who may ``get`` the subresource only.

    A browser opens a WebSocket with GET, so that permission to read would otherwise permit to execute.

    Raises:
        StatusFailure: If it is refused.
    """
    if info.verb == "create" or info.subresource not in _UPGRADES or type(authorizer) is AlwaysAllow:
        return
    outcome = authorizer.authorize(replace(read_attributes(request.user, request), verb="create"))
    if not outcome.is_allowed:
        message = f"{info.resource} {quoted(info.name)} is forbidden: {outcome.reason}"
        raise StatusFailure(403, "Forbidden", message, details=details_of(info.name, info.group, info.resource))


def forbidden(attributes: AuthorizationAttributes, reason: str = "") -> StatusFailure:
    """Return the refusal of a request, in the words of kube-apiserver."""
    problem = _describe(attributes).translate(_SANITIZED)
    if reason:
        problem = f"{problem}: {reason}"
    if not attributes.is_resource_request:
        return StatusFailure(403, "Forbidden", f"forbidden: {problem}", details={})
    name, group, resource = attributes.name, attributes.group, attributes.resource
    details = details_of(name, group, resource)
    if not group and not resource:
        return StatusFailure(403, "Forbidden", f"forbidden: {problem}", details=details)
    subject = f"{qualified(group, resource)}{f' {quoted(name)}' if name else ''}"
    return StatusFailure(403, "Forbidden", f"{subject} is forbidden: {problem}", details=details)


def _describe(attributes: AuthorizationAttributes) -> str:
    user = f"User {quoted(attributes.user.name)} cannot {attributes.verb}"
    if not attributes.is_resource_request:
        return f"{user} path {quoted(attributes.path)}"
    parts = (attributes.resource, attributes.subresource) if attributes.subresource else (attributes.resource,)
    namespace = attributes.namespace
    where = f"in the namespace {quoted(namespace)}" if namespace else "at the cluster scope"
    return f"{user} resource {quoted('/'.join(parts))} in API group {quoted(attributes.group)} {where}"
