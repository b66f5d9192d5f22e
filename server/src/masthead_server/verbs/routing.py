"""Paths: the resource that a request is about, and whether its method is allowed there.

kube-apiserver routes requests for built-in resources by their paths, and hands those for custom resources to one
handler. So the two refuse in different words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.quoting import quoted
from masthead_server import scheme
from masthead_server.resources.catalog import unknown_resource
from masthead_server.wire.failures import StatusFailure, bad_request, details_of, qualified

if TYPE_CHECKING:
    from masthead_server.resources.catalog import Catalog
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["find_resource", "not_allowed"]

_NEED_NAME: Final = frozenset({"get", "update", "patch", "delete"})
_NEED_NAMESPACE: Final = frozenset({"create", "deletecollection"})
_ACROSS_NAMESPACES: Final = frozenset({"list", "watch"})
_PROXY: Final = "proxy"
_PROXIED_METHODS: Final = frozenset({"head", "options"})
"""What a proxy takes besides the verbs that discovery shows."""


def find_resource(catalog: Catalog, info: RequestInfo) -> ServedResource | None:
    """Return the resource that a request is about; None if its path leads nowhere.

    Raises:
        StatusFailure: If the resource has no such path or subresource, or does not allow the method.
    """
    served = catalog.find(GroupVersionResource(info.group, info.version, info.resource))
    if served is None:
        if info.group in scheme.VERSIONS:
            raise unknown_resource()
        return None
    if served.is_custom:
        return served if _is_in_scope(info, served) and _check_custom(info, served) else None
    _check_builtin(info, served)
    return served


def _check_builtin(info: RequestInfo, served: ServedResource) -> None:
    if not _fits(info, served) or (info.name and not info.subresource and _NEED_NAME.isdisjoint(served.verbs)):
        raise unknown_resource()
    part = served.resource.subresource(info.subresource) if info.subresource else None
    verbs = frozenset(part.verbs) if part else served.verbs
    if info.subresource == _PROXY:
        verbs |= _PROXIED_METHODS
    lacks_namespace = served.is_namespaced and not info.namespace and info.verb in _NEED_NAMESPACE
    lacks_name = info.verb in _NEED_NAME and not info.name
    has_name_too_many = info.verb == "create" and bool(info.name) and not info.subresource
    if info.verb not in verbs or lacks_namespace or lacks_name or has_name_too_many:
        raise not_allowed()


def _fits(info: RequestInfo, served: ServedResource) -> bool:
    """Whether a path is valid for a built-in resource."""
    if info.namespace and not served.is_namespaced:
        return False
    if info.name and served.is_namespaced and not info.namespace:
        return False
    if info.tail and info.subresource != _PROXY:
        return False
    return not info.subresource or served.resource.subresource(info.subresource) is not None


def _is_in_scope(info: RequestInfo, served: ServedResource) -> bool:
    """Whether a path has a namespace if and only if a custom resource is namespaced."""
    if not served.is_namespaced:
        return not info.namespace
    return bool(info.namespace) or info.verb in _ACROSS_NAMESPACES


def _check_custom(info: RequestInfo, served: ServedResource) -> bool:
    part = served.resource.subresource(info.subresource) if info.subresource else None
    if info.subresource and part is None:
        raise served.missing(info.name)
    verb = "update" if info.verb == "put" else info.verb
    if verb not in (part.verbs if part else served.verbs):
        resource = quoted(qualified(served.group, served.name))
        message = f"{verb if verb in served.verbs else ''} is not supported on resources of kind {resource}"
        details = details_of("", served.group, served.name)
        raise StatusFailure(405, "MethodNotAllowed", message, details=details)
    if verb in _NEED_NAME and not info.name:
        raise bad_request("name must be provided")
    return True


def not_allowed() -> StatusFailure:
    """Return the response to a method that a path does not allow."""
    message = "the server does not allow this method on the requested resource"
    return StatusFailure(405, "MethodNotAllowed", message, details={})
