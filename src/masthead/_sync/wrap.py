"""The façades of informers that a factory makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from masthead._meta.object import Object
from masthead._sync.informer import SharedInformer
from masthead._sync.lifecycle import InformerFacade

if TYPE_CHECKING:
    from masthead._cache.informer.informer import SharedInformer as AsyncSharedInformer
    from masthead._sync.lifecycle import PortalInformer
    from masthead._sync.portal import Portal

__all__ = ["wrap_informer"]

T = TypeVar("T", bound=Object)


def wrap_informer(portal: Portal, informer: AsyncSharedInformer[T]) -> SharedInformer[T]:
    """The façade of an informer of a factory: the same one, as long as it is referenced."""
    # A `PortalFactory` makes no others, and accepts no others.
    inner = cast("PortalInformer[T]", informer)
    found = cast("SharedInformer[T] | None", inner.facade() if inner.facade is not None else None)
    if found is None:
        # Not by its constructor, which makes an informer.
        found = cast("SharedInformer[T]", SharedInformer.__new__(SharedInformer))
        InformerFacade.__init__(found, portal, inner)  # pyright: ignore[reportUnknownMemberType]
    return found
