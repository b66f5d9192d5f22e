"""The client of a resource given by its class."""

from __future__ import annotations

from typing import Generic, TypeVar

from masthead._client.resource import ResourceClient
from masthead._client.restarts import RestartVerbs
from masthead._client.subresources import ScaleVerbs, StatusVerbs
from masthead._meta.object import Object
from masthead._module import set_module

__all__ = ["TypedResource"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.clientset")
class TypedResource(ResourceClient[T], StatusVerbs[T], ScaleVerbs[T], RestartVerbs[T], Generic[T]):
    """The objects of a kind given by its class, built-in or custom.

    The status and scale verbs exist for every kind; the server refuses them where a kind has no such
    subresource. `restart` exists for every kind, too; it raises an error for kinds without rollouts.
    """
