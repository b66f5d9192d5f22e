"""What a factory has for one resource: its informer, and its lister."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, NoReturn, TypeVar

from masthead._cache.factory.informers import WITHOUT_PARENTHESES
from masthead._cache.factory.informers import InformerGroup as AsyncInformerGroup
from masthead._cache.factory.informers import Informers as AsyncInformers
from masthead._meta.object import Object
from masthead._sync.facade import Facade
from masthead._sync.informer import SharedInformer, facing

if TYPE_CHECKING:
    from masthead._cache.store.lister import Lister
    from masthead._meta.gvk import GroupVersion

__all__ = ["InformerGroup", "Informers"]

T = TypeVar("T", bound=Object)


class Informers(Facade[AsyncInformers[T]], Generic[T]):
    """The informer and the lister of one resource, shared by everybody who asks the factory for them."""

    @property
    def informer(self) -> SharedInformer[T]:
        """What keeps the copy, and tells handlers of every change."""
        return facing(self._portal, self._async.informer)

    @property
    def lister(self) -> Lister[T]:
        """The copy: by namespace, name and labels."""
        result: Lister[T] = self._async.lister
        return result

    def __repr__(self) -> str:
        return repr(self._async)

    if not TYPE_CHECKING:  # who has types is told by them

        def __call__(self, *_: object, **__: object) -> NoReturn:
            """Say what those should do who take this for a resource of a client.

            Raises:
                TypeError: always.
            """
            raise TypeError(WITHOUT_PARENTHESES)


class InformerGroup(Facade[AsyncInformerGroup]):
    """The informers of one API group at one version.

    Attributes:
        GROUP_VERSION: Which.
    """

    GROUP_VERSION: ClassVar[GroupVersion]
