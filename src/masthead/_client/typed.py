"""The objects of any kind that has a type."""

from __future__ import annotations

from typing import Generic, TypeVar

from masthead._client.resource import ResourceClient
from masthead._client.subresources import ScaleVerbs, StatusVerbs
from masthead._meta.object import Object

__all__ = ["TypedResource"]

T = TypeVar("T", bound=Object)


class TypedResource(ResourceClient[T], StatusVerbs[T], ScaleVerbs[T], Generic[T]):
    """The objects of a kind that is known by its class: one of the API's own, or a custom resource's.

    The verbs for status and scale are there for every kind; the server says so where a kind has neither.
    """
