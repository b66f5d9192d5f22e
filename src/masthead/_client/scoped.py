"""The resources of the clientset: a namespace is selected by a call.

``client.core_v1.pods`` has the pods of all namespaces, ``client.core_v1.pods("default")`` those of one. Cluster-scoped
resources are written with and without parentheses: ``client.core_v1.nodes.list()``, ``client.core_v1.nodes().list()``.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from masthead._client.base import BaseResource
from masthead._client.resource import ResourceClient
from masthead._client.reviews import Reviews
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError

__all__ = ["ClusterResource", "ClusterReviews", "NamespacedResource", "NamespacedReviews"]

T = TypeVar("T", bound=Object)
# Rather than Self, of which jedi knows the class that declares the method alone.
NamespacedT = TypeVar("NamespacedT", bound="Namespaced[Any]")
ClusterScopedT = TypeVar("ClusterScopedT", bound="ClusterScoped[Any]")


@set_module("masthead.aio.clientset")
class Namespaced(BaseResource[T], Generic[T]):
    """A resource whose namespace is selected by a call."""

    def __call__(self: NamespacedT, namespace: str | None = None) -> NamespacedT:
        """Select a namespace.

        Args:
            namespace: The namespace; None for the same objects as without a call.

        Raises:
            ArgumentError: If another namespace was selected before.
        """
        if namespace is None or namespace == self._namespace:
            return self
        # Otherwise a resource that was limited to one namespace would silently lead to another.
        if self._namespace is not None:
            raise ArgumentError(f"{self!r} cannot be called with another namespace", value=namespace)
        return type(self)(self._context, self._found, namespace)


@set_module("masthead.aio.clientset")
class ClusterScoped(BaseResource[T], Generic[T]):
    """A resource without namespaces, which may be called like a namespaced one."""

    def __call__(self: ClusterScopedT) -> ClusterScopedT:
        """Return the same objects."""
        return self


@set_module("masthead.aio.clientset")
class NamespacedResource(ResourceClient[T], Namespaced[T], Generic[T]):
    """The objects of a namespaced kind, in one namespace or in all."""


@set_module("masthead.aio.clientset")
class ClusterResource(ResourceClient[T], ClusterScoped[T], Generic[T]):
    """The objects of a cluster-scoped kind."""


@set_module("masthead.aio.clientset")
class NamespacedReviews(Reviews[T], Namespaced[T], Generic[T]):
    """Objects of a namespaced kind that can only be created."""


@set_module("masthead.aio.clientset")
class ClusterReviews(Reviews[T], ClusterScoped[T], Generic[T]):
    """Objects of a cluster-scoped kind that can only be created."""
