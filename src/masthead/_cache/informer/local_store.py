"""The local store of an informer: the objects, their indices, and everything that reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._cache.informer.mutation_detector import MutationDetector, detector_for
from masthead._cache.informer.processor import SharedProcessor
from masthead._cache.store.indexer import NAMESPACE, Indexer, by_namespace
from masthead._cache.store.lister import Lister
from masthead._cache.store.storage import storage_for
from masthead._cache.store.store import disown
from masthead._meta.object import Object

if TYPE_CHECKING:
    from collections.abc import Collection

    from masthead._cache.options import InformerOptions

__all__ = ["LocalStore"]

T = TypeVar("T", bound=Object)


class LocalStore(Generic[T]):
    """Holds the objects of an informer.

    Args:
        name: The informer's name in logs.
        item: The class of the objects.
        resource: The resource's name, for errors of the lister.
        scopes: The namespaces with a watch of their own; one empty name for a single watch.
        options: The informer's options.

    Attributes:
        storage: Packs and unpacks objects.
        processor: Applies changes to the store, and notifies the handlers.
        indexer: Reads the store by key and index.
        lister: Reads the store by namespace, name and labels.
        detector: Detects mutations of shared objects; None if that is off.

    Raises:
        IndexConflictError: If an indexer has the name of a built-in index.
        ConfigError: If the storage needs a package that is not installed.
    """

    def __init__(
        self, name: str, item: type[T], resource: str, scopes: Collection[str], options: InformerOptions[T]
    ) -> None:
        self._name = name
        self.storage = storage_for(options.hold, item)
        self.detector = detector_for(self.storage, name, options.detect_mutations)
        self.processor = SharedProcessor(
            self.storage, {NAMESPACE: by_namespace}, scopes, name=name, detector=self.detector
        )
        self.indexer = Indexer(self.processor.store, self.storage, self.processor.gate)
        self.indexer.add_indexers(options.indexers or {})
        self.lister = Lister(self.indexer, resource, lambda: self.processor.is_synced)

    def check_mutations(self) -> None:
        """Compare all objects with the bytes that they were decoded from.

        Raises:
            MutationError: If some were mutated.
        """
        detector = self.detector
        if detector is None:
            # Detection is off, so that mutations of objects that have left the store are unknown.
            detector = MutationDetector(self.storage, self._name)
            detector.attach(self.processor.store.items)
        detector.check()

    def check_mutations_if_enabled(self) -> None:
        """Compare all objects, if the informer detects mutations.

        Raises:
            MutationError: If some were mutated.
        """
        if self.detector is not None:
            self.check_mutations()

    def disown(self, problem: str) -> None:
        """Make every read raise `InformerStateError`, because the informer runs in another process."""
        self.processor.is_synced = False
        disown(self.indexer, problem)
