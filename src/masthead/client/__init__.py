"""What users call: verbs, typed and dynamic, watches, waiting, manifests. The async façade.

| module | what lives there |
|---|---|
| `client`, `group`, `clientset` | the client, and its groups, which are generated |
| `resource`, `typed`, `dynamic`, `metadata`, `scales`, `reviews` | resources, as users hold them |
| `reading`, `creating`, `writing`, `deleting`, `conflicts` | the verbs |
| `subresources`, `actions`, `logs` | the parts of objects |
| `target`, `access`, `options`, `listing` | how a call is put together |
| `event`, `watch`, `watchlist` | watches |
| `conditions`, `rollouts`, `waiting` | what to wait for |
| `documents`, `ordering`, `manifests` | manifests |
| `changes`, `extraction`, `fields_v1`, `fieldpaths` | what an object becomes; what a manager owns |

The names below can be imported from here; each is imported when it is first used. `masthead.aio` offers them too, and
`masthead` their blocking namesakes.
"""

from masthead.lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead.client.client import Client as Client
    from masthead.client.conditions import Condition as Condition
    from masthead.client.conflicts import retry_on as retry_on
    from masthead.client.conflicts import retry_on_conflict as retry_on_conflict
    from masthead.client.dynamic import DynamicResource as DynamicResource
    from masthead.client.event import Event as Event
    from masthead.client.event import EventType as EventType
    from masthead.client.extraction import extract as extract
    from masthead.client.logs import LogStream as LogStream
    from masthead.client.metadata import MetadataResource as MetadataResource
    from masthead.client.resource import ResourceClient as ResourceClient
    from masthead.client.scales import Scales as Scales
    from masthead.client.typed import TypedResource as TypedResource
    from masthead.client.watch import Watch as Watch

_HOMES = {
    "Client": "masthead.client.client",
    "Condition": "masthead.client.conditions",
    "retry_on": "masthead.client.conflicts",
    "retry_on_conflict": "masthead.client.conflicts",
    "DynamicResource": "masthead.client.dynamic",
    "Event": "masthead.client.event",
    "EventType": "masthead.client.event",
    "extract": "masthead.client.extraction",
    "LogStream": "masthead.client.logs",
    "MetadataResource": "masthead.client.metadata",
    "ResourceClient": "masthead.client.resource",
    "Scales": "masthead.client.scales",
    "TypedResource": "masthead.client.typed",
    "Watch": "masthead.client.watch",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
