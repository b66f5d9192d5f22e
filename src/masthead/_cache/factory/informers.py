"""The informer and the lister of one resource of a factory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeVar

from masthead._cache.store.store import count_of
from masthead._meta.object import Object
from masthead._meta.registry import registry
from masthead._module import set_module

if TYPE_CHECKING:
    from typing import Self

    from masthead._cache.informer.informer import SharedInformer
    from masthead._cache.store.lister import Lister
    from masthead._meta.gvk import GroupVersion

__all__ = ["FACTORY_NAMESPACES", "InformerGroup", "Informers", "Provide"]

T = TypeVar("T", bound=Object)

FACTORY_NAMESPACES: Final = (
    "the informers of a factory have the namespaces of the factory: factory.core_v1.pods.informer, "
    "factory.core_v1.pods.lister; for one namespace, ask for factory.informer(Pod, namespace=...)"
)
"""The error message for ``factory.core_v1.pods("default")``, which is how a client is written."""


class Provide(Protocol):
    """Returns the informer of a kind, the same one every time."""

    def __call__(self, kind: type[T], /) -> SharedInformer[T]:
        """The informer of a kind."""
        ...


@set_module("masthead.aio.informers")
class Informers(Generic[T]):
    """The shared informer and lister of one resource."""

    # differs from client-go: the informer is created with this object. Created on first use, it would have missed the
    # start of the factory and the wait for its sync, and the lister would be empty.
    def __init__(self, informer: SharedInformer[T]) -> None:
        self._informer = informer

    @property
    def informer(self) -> SharedInformer[T]:
        """The informer, which fills the store and dispatches events to handlers."""
        return self._informer

    @property
    def lister(self) -> Lister[T]:
        """The local store, by namespace, name and labels."""
        return self._informer.lister

    def __repr__(self) -> str:
        return f"<Informers of {self._informer.name}, {count_of(self._informer.indexer)}>"

    if TYPE_CHECKING:

        def __call__(self) -> Self:
            """Return this object: ``factory.core_v1.pods().lister``, as with a client."""
            ...

    else:  # type checkers report a namespace themselves

        def __call__(self, *namespaces: object, **options: object) -> Self:
            """Return this object, for ``factory.core_v1.pods()`` as with a client.

            Raises:
                TypeError: If a namespace is passed.
            """
            if namespaces or options:
                raise TypeError(FACTORY_NAMESPACES)
            return self


@set_module("masthead.aio.informers")
class InformerGroup:
    """The informers of one API group and version.

    Attributes:
        GROUP_VERSION: The group and version.
    """

    GROUP_VERSION: ClassVar[GroupVersion]

    def __init__(self, provide: Provide) -> None:
        self._provide = provide

    def _informers(self, kind: str) -> Informers[Any]:
        """The informer and lister of a kind, whose module is imported on first use."""
        cls = registry.object_class(self.GROUP_VERSION.kind(kind))
        return Informers(self._provide(cls))
