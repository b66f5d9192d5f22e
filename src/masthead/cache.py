"""The parts of informers: stores, indexers and listers, reflectors, handlers, transforms and the shared factory.

The store and everything that reads it is safe to use from any thread. `masthead.aio` and `masthead` export what most
programs need; the rest is for programs that assemble an informer themselves, such as a `Reflector` with a queue of their
own.

The names below can be imported from here; each is imported when it is first used.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._cache.factory.factory import SharedInformerFactory as SharedInformerFactory
    from masthead._cache.factory.informers import Informers as Informers
    from masthead._cache.factory.selection import ListSelectors as ListSelectors
    from masthead._cache.informer.controller import InformerController as InformerController
    from masthead._cache.informer.handlers import EventHandler as EventHandler
    from masthead._cache.informer.handlers import FilteringEventHandler as FilteringEventHandler
    from masthead._cache.informer.health import InformerHealth as InformerHealth
    from masthead._cache.informer.informer import SharedInformer as SharedInformer
    from masthead._cache.informer.registration import Registration as Registration
    from masthead._cache.options import InformerArguments as InformerArguments
    from masthead._cache.options import InformerOptions as InformerOptions
    from masthead._cache.reflector.ingest import Ingest as Ingest
    from masthead._cache.reflector.reflector import Reflector as Reflector
    from masthead._cache.reflector.sink import ChangeSink as ChangeSink
    from masthead._cache.store.indexer import Indexer as Indexer
    from masthead._cache.store.lister import Lister as Lister
    from masthead._cache.store.lister import NamespaceLister as NamespaceLister
    from masthead._cache.store.mutable_indexer import MutableIndexer as MutableIndexer
    from masthead._cache.store.store import Store as Store
    from masthead._cache.store.transforms import compose as compose
    from masthead._cache.store.transforms import drop_managed_fields as drop_managed_fields
    from masthead._cache.store.transforms import keep_fields as keep_fields
    from masthead._client.listwatch import ListerWatcher as ListerWatcher
    from masthead._client.listwatch import ListWatch as ListWatch
    from masthead._client.listwatch import ListWatchOptions as ListWatchOptions
    from masthead._sansio.changes import Bookmark as Bookmark
    from masthead._sansio.changes import Change as Change
    from masthead._sansio.changes import Delta as Delta
    from masthead._sansio.changes import DeltaType as DeltaType
    from masthead._sansio.changes import ReplacedAll as ReplacedAll
    from masthead._sansio.changes import Reselected as Reselected
    from masthead._sansio.changes import SyncAll as SyncAll

_HOMES = {
    "InformerController": "masthead._cache.informer.controller",
    "InformerArguments": "masthead._cache.options",
    "InformerOptions": "masthead._cache.options",
    "ChangeSink": "masthead._cache.reflector.sink",
    "SharedInformerFactory": "masthead._cache.factory.factory",
    "EventHandler": "masthead._cache.informer.handlers",
    "FilteringEventHandler": "masthead._cache.informer.handlers",
    "InformerHealth": "masthead._cache.informer.health",
    "SharedInformer": "masthead._cache.informer.informer",
    "Informers": "masthead._cache.factory.informers",
    "Ingest": "masthead._cache.reflector.ingest",
    "Lister": "masthead._cache.store.lister",
    "NamespaceLister": "masthead._cache.store.lister",
    "ListWatchOptions": "masthead._client.listwatch",
    "ListerWatcher": "masthead._client.listwatch",
    "ListWatch": "masthead._client.listwatch",
    "Reflector": "masthead._cache.reflector.reflector",
    "Registration": "masthead._cache.informer.registration",
    "ListSelectors": "masthead._cache.factory.selection",
    "Indexer": "masthead._cache.store.indexer",
    "MutableIndexer": "masthead._cache.store.mutable_indexer",
    "Store": "masthead._cache.store.store",
    "compose": "masthead._cache.store.transforms",
    "drop_managed_fields": "masthead._cache.store.transforms",
    "keep_fields": "masthead._cache.store.transforms",
    "Bookmark": "masthead._sansio.changes",
    "Change": "masthead._sansio.changes",
    "Delta": "masthead._sansio.changes",
    "DeltaType": "masthead._sansio.changes",
    "ReplacedAll": "masthead._sansio.changes",
    "Reselected": "masthead._sansio.changes",
    "SyncAll": "masthead._sansio.changes",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
