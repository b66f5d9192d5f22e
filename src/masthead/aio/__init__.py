"""The async façade: what `masthead` offers, to be awaited.

::

    async with masthead.aio.Client() as client:
        async for pod in client.core_v1.pods("default").iterate():
            print(pod.metadata.name)

Names that are the same in both façades are here, too. Each is imported when it is first used.
"""

from masthead.lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead.cache.factory import SharedInformerFactory as SharedInformerFactory
    from masthead.cache.handlers import EventHandler as EventHandler
    from masthead.cache.handlers import FilteringEventHandler as FilteringEventHandler
    from masthead.cache.health import Health as Health
    from masthead.cache.informer import SharedInformer as SharedInformer
    from masthead.cache.informers import Informers as Informers
    from masthead.cache.lister import Lister as Lister
    from masthead.cache.lister import NamespaceLister as NamespaceLister
    from masthead.cache.listwatch import ListOptions as ListOptions
    from masthead.cache.listwatch import ListWatch as ListWatch
    from masthead.cache.registration import Registration as Registration
    from masthead.cache.selection import Selection as Selection
    from masthead.cache.store import Indexer as Indexer
    from masthead.cache.store import Store as Store
    from masthead.cache.transforms import compose as compose
    from masthead.cache.transforms import drop_managed_fields as drop_managed_fields
    from masthead.cache.transforms import keep_fields as keep_fields
    from masthead.client import conditions as conditions
    from masthead.client.client import Client as Client
    from masthead.client.conditions import Condition as Condition
    from masthead.client.conditions import ObjectCondition as ObjectCondition
    from masthead.client.conflicts import retry_on as retry_on
    from masthead.client.conflicts import retry_on_conflict as retry_on_conflict
    from masthead.client.documents import load_manifests as load_manifests
    from masthead.client.dynamic import DynamicResource as DynamicResource
    from masthead.client.event import Event as Event
    from masthead.client.event import EventType as EventType
    from masthead.client.extraction import extract as extract
    from masthead.client.logs import LogStream as LogStream
    from masthead.client.metadata import MetadataResource as MetadataResource
    from masthead.client.resource import ResourceClient as ResourceClient
    from masthead.client.reviews import Reviews as Reviews
    from masthead.client.scales import Scales as Scales
    from masthead.client.typed import TypedResource as TypedResource
    from masthead.client.watch import Watch as Watch
    from masthead.config.model import Config as Config
    from masthead.discovery.client import DiscoveryClient as DiscoveryClient
    from masthead.discovery.mapper import Mapper as Mapper
    from masthead.errors import AlreadyExistsError as AlreadyExistsError
    from masthead.errors import ClosedError as ClosedError
    from masthead.errors import ConflictError as ConflictError
    from masthead.errors import DeadlineError as DeadlineError
    from masthead.errors import ExpiredError as ExpiredError
    from masthead.errors import ForbiddenError as ForbiddenError
    from masthead.errors import InformerStateError as InformerStateError
    from masthead.errors import ManifestError as ManifestError
    from masthead.errors import MastheadError as MastheadError
    from masthead.errors import NotFoundError as NotFoundError
    from masthead.errors import SnapshotError as SnapshotError
    from masthead.errors import StatusError as StatusError
    from masthead.meta.gvk import GroupVersionKind as GroupVersionKind
    from masthead.meta.gvk import GroupVersionResource as GroupVersionResource
    from masthead.meta.object import Object as Object
    from masthead.meta.object import ObjectList as ObjectList
    from masthead.meta.patch import Patch as Patch
    from masthead.meta.quantity import Quantity as Quantity
    from masthead.meta.registry import register as register
    from masthead.meta.unstructured import Unstructured as Unstructured
    from masthead.metrics import PrometheusMetrics as PrometheusMetrics
    from masthead.rest.client import RestClient as RestClient
    from masthead.sansio.backoff import Backoff as Backoff
    from masthead.sansio.deltafifo import DeltaFIFO as DeltaFIFO

_HOMES = {
    "SharedInformerFactory": "masthead.cache.factory",
    "EventHandler": "masthead.cache.handlers",
    "FilteringEventHandler": "masthead.cache.handlers",
    "Health": "masthead.cache.health",
    "SharedInformer": "masthead.cache.informer",
    "Informers": "masthead.cache.informers",
    "Lister": "masthead.cache.lister",
    "NamespaceLister": "masthead.cache.lister",
    "ListOptions": "masthead.cache.listwatch",
    "ListWatch": "masthead.cache.listwatch",
    "Registration": "masthead.cache.registration",
    "Selection": "masthead.cache.selection",
    "Indexer": "masthead.cache.store",
    "Store": "masthead.cache.store",
    "compose": "masthead.cache.transforms",
    "drop_managed_fields": "masthead.cache.transforms",
    "keep_fields": "masthead.cache.transforms",
    "conditions": "masthead.client",
    "Client": "masthead.client.client",
    "Condition": "masthead.client.conditions",
    "ObjectCondition": "masthead.client.conditions",
    "retry_on": "masthead.client.conflicts",
    "retry_on_conflict": "masthead.client.conflicts",
    "DynamicResource": "masthead.client.dynamic",
    "load_manifests": "masthead.client.documents",
    "Event": "masthead.client.event",
    "EventType": "masthead.client.event",
    "extract": "masthead.client.extraction",
    "LogStream": "masthead.client.logs",
    "MetadataResource": "masthead.client.metadata",
    "ResourceClient": "masthead.client.resource",
    "Reviews": "masthead.client.reviews",
    "Scales": "masthead.client.scales",
    "TypedResource": "masthead.client.typed",
    "Watch": "masthead.client.watch",
    "Config": "masthead.config.model",
    "DiscoveryClient": "masthead.discovery.client",
    "Mapper": "masthead.discovery.mapper",
    "AlreadyExistsError": "masthead.errors",
    "ClosedError": "masthead.errors",
    "ConflictError": "masthead.errors",
    "DeadlineError": "masthead.errors",
    "ExpiredError": "masthead.errors",
    "ForbiddenError": "masthead.errors",
    "InformerStateError": "masthead.errors",
    "ManifestError": "masthead.errors",
    "MastheadError": "masthead.errors",
    "NotFoundError": "masthead.errors",
    "SnapshotError": "masthead.errors",
    "StatusError": "masthead.errors",
    "GroupVersionKind": "masthead.meta.gvk",
    "GroupVersionResource": "masthead.meta.gvk",
    "Object": "masthead.meta.object",
    "ObjectList": "masthead.meta.object",
    "Patch": "masthead.meta.patch",
    "Quantity": "masthead.meta.quantity",
    "register": "masthead.meta.registry",
    "Unstructured": "masthead.meta.unstructured",
    "PrometheusMetrics": "masthead.metrics",
    "RestClient": "masthead.rest.client",
    "Backoff": "masthead.sansio.backoff",
    "DeltaFIFO": "masthead.sansio.deltafifo",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
