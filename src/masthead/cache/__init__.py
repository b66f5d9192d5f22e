"""Informers: a part of the cluster mirrored in memory, kept up to date, and told about.

| module | what lives there |
|---|---|
| `informer`, `arranged` | the informer, and its contract; what is arranged before it starts |
| `factory`, `selection`, `together`, `informers`, `groups` | informers that a program shares; the groups are generated |
| `handlers`, `registration`, `delivery` | who is told of changes, and how |
| `store`, `lister` | reading the copy |
| `listwatch`, `sources`, `checked` | what can be mirrored, and whether it gives what it should |
| `reflector`, `controller`, `intake`, `collected` | from a source through a queue to whoever processes what comes out |
| `trouble`, `quarantine`, `proof` | errors; objects that cannot be used; whether a server is the one that we knew |
| `processor`, `applying`, `progress` | from the queue to the store, and on to the handlers |
| `holding`, `compact` | how objects are held |
| `transforms`, `mutation` | what is done to objects before they are held; who changes them afterwards |
| `snapshot`, `seeding` | a copy as a file, and a start from it |
| `health`, `meters` | how an informer is doing; what it counts |

What decides is in `masthead.sansio`: the list-watch machine, queues, the indexed store, buffers, resyncs.

The names below can be imported from here; each is imported when it is first used. `masthead.aio` offers those that most
programs need, and `masthead` the same for the blocking client.
"""

from masthead.lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead.cache.controller import Controller as Controller
    from masthead.cache.factory import SharedInformerFactory as SharedInformerFactory
    from masthead.cache.handlers import EventHandler as EventHandler
    from masthead.cache.handlers import FilteringEventHandler as FilteringEventHandler
    from masthead.cache.health import Health as Health
    from masthead.cache.informer import SharedInformer as SharedInformer
    from masthead.cache.informers import Informers as Informers
    from masthead.cache.intake import Intake as Intake
    from masthead.cache.lister import Lister as Lister
    from masthead.cache.lister import NamespaceLister as NamespaceLister
    from masthead.cache.listwatch import ListOptions as ListOptions
    from masthead.cache.listwatch import ListWatch as ListWatch
    from masthead.cache.listwatch import ResourceListWatch as ResourceListWatch
    from masthead.cache.reflector import Reflector as Reflector
    from masthead.cache.registration import Registration as Registration
    from masthead.cache.selection import Selection as Selection
    from masthead.cache.store import Indexer as Indexer
    from masthead.cache.store import Store as Store
    from masthead.cache.transforms import compose as compose
    from masthead.cache.transforms import drop_managed_fields as drop_managed_fields
    from masthead.cache.transforms import keep_fields as keep_fields
    from masthead.sansio.changes import Bookmark as Bookmark
    from masthead.sansio.changes import Change as Change
    from masthead.sansio.changes import Delta as Delta
    from masthead.sansio.changes import DeltaType as DeltaType
    from masthead.sansio.changes import ReplacedAll as ReplacedAll
    from masthead.sansio.changes import SyncAll as SyncAll

_HOMES = {
    "Controller": "masthead.cache.controller",
    "SharedInformerFactory": "masthead.cache.factory",
    "EventHandler": "masthead.cache.handlers",
    "FilteringEventHandler": "masthead.cache.handlers",
    "Health": "masthead.cache.health",
    "SharedInformer": "masthead.cache.informer",
    "Informers": "masthead.cache.informers",
    "Intake": "masthead.cache.intake",
    "Lister": "masthead.cache.lister",
    "NamespaceLister": "masthead.cache.lister",
    "ListOptions": "masthead.cache.listwatch",
    "ListWatch": "masthead.cache.listwatch",
    "ResourceListWatch": "masthead.cache.listwatch",
    "Reflector": "masthead.cache.reflector",
    "Registration": "masthead.cache.registration",
    "Selection": "masthead.cache.selection",
    "Indexer": "masthead.cache.store",
    "Store": "masthead.cache.store",
    "compose": "masthead.cache.transforms",
    "drop_managed_fields": "masthead.cache.transforms",
    "keep_fields": "masthead.cache.transforms",
    "Bookmark": "masthead.sansio.changes",
    "Change": "masthead.sansio.changes",
    "Delta": "masthead.sansio.changes",
    "DeltaType": "masthead.sansio.changes",
    "ReplacedAll": "masthead.sansio.changes",
    "SyncAll": "masthead.sansio.changes",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
