"""The façades of a factory's informers."""

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
    """Return the façade of a factory's informer: the same object as long as it is referenced."""
    # A `PortalFactory` creates only such informers, and refuses all others.
    inner = cast("PortalInformer[T]", informer)
    facade = cast("SharedInformer[T] | None", inner.facade() if inner.facade is not None else None)
    if facade is None:
        # The constructor of the façade would create another informer.
        facade = cast("SharedInformer[T]", SharedInformer.__new__(SharedInformer))
        InformerFacade.__init__(facade, portal, inner)  # pyright: ignore[reportUnknownMemberType]
    return facade
