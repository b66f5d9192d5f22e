"""Kubernetes for Python.

::

    with masthead.Client() as client:
        for pod in client.core_v1.pods("default").list(label_selector="app=web"):
            print(pod.metadata.name, pod.status.phase)

The client here blocks; `masthead.aio` has the same names, to be awaited. What is offered is imported when it is first
used: ``import masthead`` by itself costs next to nothing. Types of the API live in ``masthead.api``, one module per group and version; the words that they share in
``masthead.meta``; every error in ``masthead.errors``.
"""

from masthead.lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead import aio as aio
    from masthead import api as api
    from masthead import config as config
    from masthead import errors as errors
    from masthead import meta as meta
    from masthead import server as server
    from masthead.cache.handlers import EventHandler as EventHandler
    from masthead.cache.handlers import FilteringEventHandler as FilteringEventHandler
    from masthead.cache.health import Health as Health
    from masthead.cache.lister import Lister as Lister
    from masthead.cache.lister import NamespaceLister as NamespaceLister
    from masthead.cache.listwatch import ListOptions as ListOptions
    from masthead.cache.listwatch import ListWatch as ListWatch
    from masthead.cache.selection import Selection as Selection
    from masthead.cache.store import Indexer as Indexer
    from masthead.cache.store import Store as Store
    from masthead.cache.transforms import compose as compose
    from masthead.cache.transforms import drop_managed_fields as drop_managed_fields
    from masthead.cache.transforms import keep_fields as keep_fields
    from masthead.client import conditions as conditions
    from masthead.client.conditions import Condition as Condition
    from masthead.client.conditions import ObjectCondition as ObjectCondition
    from masthead.client.documents import load_manifests as load_manifests
    from masthead.client.event import Event as Event
    from masthead.client.event import EventType as EventType
    from masthead.client.extraction import extract as extract
    from masthead.config.model import Config as Config
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
    from masthead.sansio.backoff import Backoff as Backoff
    from masthead.sansio.deltafifo import DeltaFIFO as DeltaFIFO
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

__version__ = "0.1.0"

_HOMES = {
    "aio": "masthead",
    "api": "masthead",
    "config": "masthead",
    "errors": "masthead",
    "meta": "masthead",
    "server": "masthead",
    "EventHandler": "masthead.cache.handlers",
    "FilteringEventHandler": "masthead.cache.handlers",
    "Health": "masthead.cache.health",
    "Lister": "masthead.cache.lister",
    "NamespaceLister": "masthead.cache.lister",
    "ListOptions": "masthead.cache.listwatch",
    "ListWatch": "masthead.cache.listwatch",
    "Selection": "masthead.cache.selection",
    "Indexer": "masthead.cache.store",
    "Store": "masthead.cache.store",
    "compose": "masthead.cache.transforms",
    "drop_managed_fields": "masthead.cache.transforms",
    "keep_fields": "masthead.cache.transforms",
    "conditions": "masthead.client",
    "Condition": "masthead.client.conditions",
    "ObjectCondition": "masthead.client.conditions",
    "load_manifests": "masthead.client.documents",
    "Event": "masthead.client.event",
    "EventType": "masthead.client.event",
    "extract": "masthead.client.extraction",
    "Config": "masthead.config.model",
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
    "Backoff": "masthead.sansio.backoff",
    "DeltaFIFO": "masthead.sansio.deltafifo",
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
