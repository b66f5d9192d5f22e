"""The blocking façade: the classes and methods of `masthead.aio`, and no ``await``.

| module | what lives there |
|---|---|
| `portal` | the event loop in a thread of its own, and the way there and back |
| `streams` | iterating over what comes there |
| `facade` | what the classes stand on |
| `conflicts` | what calls callers back, in their own thread |
| `informer`, `registration` | informers, whose handlers have threads of their own |
| `factory`, `informers` | informers that a program shares |
| all others | generated from the async classes, by `masthead.codegen.facade` |

The names below can be imported from here, and from `masthead`; each is imported when it is first used.
"""

from masthead.lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead.sync.client import Client as Client
    from masthead.sync.conflicts import retry_on as retry_on
    from masthead.sync.conflicts import retry_on_conflict as retry_on_conflict
    from masthead.sync.discovery import DiscoveryClient as DiscoveryClient
    from masthead.sync.dynamic import DynamicResource as DynamicResource
    from masthead.sync.factory import SharedInformerFactory as SharedInformerFactory
    from masthead.sync.informer import SharedInformer as SharedInformer
    from masthead.sync.informers import Informers as Informers
    from masthead.sync.logs import LogStream as LogStream
    from masthead.sync.mapper import Mapper as Mapper
    from masthead.sync.metadata import MetadataResource as MetadataResource
    from masthead.sync.registration import Registration as Registration
    from masthead.sync.resource import ResourceClient as ResourceClient
    from masthead.sync.rest import RestClient as RestClient
    from masthead.sync.reviews import Reviews as Reviews
    from masthead.sync.scales import Scales as Scales
    from masthead.sync.typed import TypedResource as TypedResource
    from masthead.sync.watch import Watch as Watch

_HOMES = {
    "Client": "masthead.sync.client",
    "retry_on": "masthead.sync.conflicts",
    "retry_on_conflict": "masthead.sync.conflicts",
    "DiscoveryClient": "masthead.sync.discovery",
    "DynamicResource": "masthead.sync.dynamic",
    "SharedInformerFactory": "masthead.sync.factory",
    "SharedInformer": "masthead.sync.informer",
    "Informers": "masthead.sync.informers",
    "LogStream": "masthead.sync.logs",
    "Mapper": "masthead.sync.mapper",
    "MetadataResource": "masthead.sync.metadata",
    "Registration": "masthead.sync.registration",
    "RestClient": "masthead.sync.rest",
    "ResourceClient": "masthead.sync.resource",
    "Reviews": "masthead.sync.reviews",
    "Scales": "masthead.sync.scales",
    "TypedResource": "masthead.sync.typed",
    "Watch": "masthead.sync.watch",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
