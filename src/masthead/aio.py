"""The async façade: the names of `masthead`, with coroutines in place of blocking methods.

::

    async with masthead.aio.Client() as client:
        async for pod in client.core_v1.pods("default").iter():
            print(pod.metadata.name)

Names that are the same in both façades are exported by both. Each is imported when it is first used.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead import conditions as conditions
    from masthead import predicates as predicates
    from masthead._cache.factory.factory import SharedInformerFactory as SharedInformerFactory
    from masthead._cache.factory.informers import Informers as Informers
    from masthead._cache.factory.selection import ListSelectors as ListSelectors
    from masthead._cache.informer.handlers import EventHandler as EventHandler
    from masthead._cache.informer.handlers import FilteringEventHandler as FilteringEventHandler
    from masthead._cache.informer.health import InformerHealth as InformerHealth
    from masthead._cache.informer.informer import SharedInformer as SharedInformer
    from masthead._cache.informer.registration import Registration as Registration
    from masthead._cache.store.indexer import Indexer as Indexer
    from masthead._cache.store.lister import Lister as Lister
    from masthead._cache.store.lister import NamespaceLister as NamespaceLister
    from masthead._cache.store.store import Store as Store
    from masthead._cache.store.transforms import compose as compose
    from masthead._cache.store.transforms import drop_managed_fields as drop_managed_fields
    from masthead._cache.store.transforms import keep_fields as keep_fields
    from masthead._client.apply_results import ApplyResult as ApplyResult
    from masthead._client.apply_sets import ApplySet as ApplySet
    from masthead._client.client import Client as Client
    from masthead._client.conditions import ObjectWaitCondition as ObjectWaitCondition
    from masthead._client.conditions import WaitCondition as WaitCondition
    from masthead._client.conflicts import retry_on as retry_on
    from masthead._client.conflicts import retry_on_conflict as retry_on_conflict
    from masthead._client.cp.progress import CopyProgress as CopyProgress
    from masthead._client.diffs import DiffResult as DiffResult
    from masthead._client.diffs import ObjectDiff as ObjectDiff
    from masthead._client.documents import load_manifests as load_manifests
    from masthead._client.dynamic import DynamicResource as DynamicResource
    from masthead._client.listwatch import ListerWatcher as ListerWatcher
    from masthead._client.listwatch import ListWatchOptions as ListWatchOptions
    from masthead._client.log_group import MergedLogs as MergedLogs
    from masthead._client.log_line import LogLine as LogLine
    from masthead._client.logs import LogStream as LogStream
    from masthead._client.metadata import MetadataResource as MetadataResource
    from masthead._client.portforward.connection import PodConnection as PodConnection
    from masthead._client.portforward.forward import PortForward as PortForward
    from masthead._client.portforward.port_specs import ForwardedPort as ForwardedPort
    from masthead._client.proxy_stream import ProxyStream as ProxyStream
    from masthead._client.proxy_verbs import ResourceProxy as ResourceProxy
    from masthead._client.remotecommand.process import RemoteProcess as RemoteProcess
    from masthead._client.remotecommand.results import ExecResult as ExecResult
    from masthead._client.remotecommand.streams import RemoteInput as RemoteInput
    from masthead._client.remotecommand.streams import RemoteOutput as RemoteOutput
    from masthead._client.resource import ResourceClient as ResourceClient
    from masthead._client.reviews import Reviews as Reviews
    from masthead._client.scales import Scales as Scales
    from masthead._client.typed import TypedResource as TypedResource
    from masthead._client.validation import validate as validate
    from masthead._client.watch import WatchStream as WatchStream
    from masthead._client.watch_event import WatchEvent as WatchEvent
    from masthead._client.watch_event import WatchEventType as WatchEventType
    from masthead._config.model import Config as Config
    from masthead._controller.cache_reader import CacheReader as CacheReader
    from masthead._controller.context import ReconcileContext as ReconcileContext
    from masthead._controller.controller import Controller as Controller
    from masthead._controller.declarations import Owns as Owns
    from masthead._controller.declarations import Reads as Reads
    from masthead._controller.declarations import Watches as Watches
    from masthead._controller.log_formatters import JsonFormatter as JsonFormatter
    from masthead._controller.log_formatters import TextFormatter as TextFormatter
    from masthead._controller.logs import ReconcileFilter as ReconcileFilter
    from masthead._controller.logs import setup_logging as setup_logging
    from masthead._controller.options import RunOptions as RunOptions
    from masthead._controller.options import RunOverrides as RunOverrides
    from masthead._controller.permissions import Permission as Permission
    from masthead._controller.requests import Request as Request
    from masthead._controller.requests import Result as Result
    from masthead._controller.runtime import ManagerRuntime as ManagerRuntime
    from masthead._controller.shard_member import ShardMember as ShardMember
    from masthead._customresource.options import ConversionWebhook as ConversionWebhook
    from masthead._customresource.options import PrinterColumn as PrinterColumn
    from masthead._customresource.options import ScaleSubresource as ScaleSubresource
    from masthead._customresource.resource import CustomResource as CustomResource
    from masthead._customresource.sources import crds as crds
    from masthead._discovery.client import DiscoveryClient as DiscoveryClient
    from masthead._discovery.rest_mapper import RestMapper as RestMapper
    from masthead._leaderelection.leader_elector import LeaderElector as LeaderElector
    from masthead._leaderelection.leadership import FencingToken as FencingToken
    from masthead._leaderelection.leadership import Leadership as Leadership
    from masthead._meta.gvk import GroupVersionKind as GroupVersionKind
    from masthead._meta.gvk import GroupVersionResource as GroupVersionResource
    from masthead._meta.object import Object as Object
    from masthead._meta.object import ObjectList as ObjectList
    from masthead._meta.patch import Patch as Patch
    from masthead._meta.quantity import Quantity as Quantity
    from masthead._meta.registry import register as register
    from masthead._meta.unstructured import Unstructured as Unstructured
    from masthead._record.recorder import EventRecorder as EventRecorder
    from masthead._rest.client import RestClient as RestClient
    from masthead._rest.proxied import ProxyResponse as ProxyResponse
    from masthead._rest.response_stream import ResponseStream as ResponseStream
    from masthead._sansio.backoff import Backoff as Backoff
    from masthead._sansio.deltafifo import DeltaFIFO as DeltaFIFO
    from masthead._sansio.sharding import ShardRanges as ShardRanges
    from masthead._sansio.sharding import ShardSet as ShardSet
    from masthead._schema.extraction import extract as extract
    from masthead._schema.field import Field as Field
    from masthead._schema.managed_fields_upgrade import find_fields_owners as find_fields_owners
    from masthead._schema.managed_fields_upgrade import upgrade_managed_fields as upgrade_managed_fields
    from masthead._schema.managed_fields_upgrade import (
        upgrade_managed_fields_patch as upgrade_managed_fields_patch,
    )
    from masthead._schema.schema import Rule as Rule
    from masthead._sync.manager import Manager as Manager
    from masthead._workqueue.queue import WorkQueue as WorkQueue
    from masthead.errors import AlreadyExistsError as AlreadyExistsError
    from masthead.errors import ApplyConflictError as ApplyConflictError
    from masthead.errors import ClosedError as ClosedError
    from masthead.errors import ConflictError as ConflictError
    from masthead.errors import CopyError as CopyError
    from masthead.errors import CustomResourceError as CustomResourceError
    from masthead.errors import DeadlineError as DeadlineError
    from masthead.errors import ExecError as ExecError
    from masthead.errors import ExecTimeoutError as ExecTimeoutError
    from masthead.errors import ExpiredError as ExpiredError
    from masthead.errors import ForbiddenError as ForbiddenError
    from masthead.errors import InformerStateError as InformerStateError
    from masthead.errors import LeadershipLostError as LeadershipLostError
    from masthead.errors import ManifestError as ManifestError
    from masthead.errors import MastheadError as MastheadError
    from masthead.errors import NotFoundError as NotFoundError
    from masthead.errors import ObjectFailedError as ObjectFailedError
    from masthead.errors import PermanentError as PermanentError
    from masthead.errors import QueueShutDownError as QueueShutDownError
    from masthead.errors import RemoteCommandError as RemoteCommandError
    from masthead.errors import SnapshotError as SnapshotError
    from masthead.errors import StatusError as StatusError
    from masthead.errors import TemporaryError as TemporaryError
    from masthead.errors import UnprocessableError as UnprocessableError
    from masthead.metrics import PrometheusMetrics as PrometheusMetrics

_HOMES = {
    "SharedInformerFactory": "masthead._cache.factory.factory",
    "EventHandler": "masthead._cache.informer.handlers",
    "FilteringEventHandler": "masthead._cache.informer.handlers",
    "InformerHealth": "masthead._cache.informer.health",
    "SharedInformer": "masthead._cache.informer.informer",
    "Informers": "masthead._cache.factory.informers",
    "Lister": "masthead._cache.store.lister",
    "NamespaceLister": "masthead._cache.store.lister",
    "ListWatchOptions": "masthead._client.listwatch",
    "ListerWatcher": "masthead._client.listwatch",
    "Registration": "masthead._cache.informer.registration",
    "ListSelectors": "masthead._cache.factory.selection",
    "Indexer": "masthead._cache.store.indexer",
    "Store": "masthead._cache.store.store",
    "compose": "masthead._cache.store.transforms",
    "drop_managed_fields": "masthead._cache.store.transforms",
    "keep_fields": "masthead._cache.store.transforms",
    "conditions": "masthead",
    "Client": "masthead._client.client",
    "WaitCondition": "masthead._client.conditions",
    "ObjectWaitCondition": "masthead._client.conditions",
    "retry_on": "masthead._client.conflicts",
    "retry_on_conflict": "masthead._client.conflicts",
    "DynamicResource": "masthead._client.dynamic",
    "ApplyResult": "masthead._client.apply_results",
    "ApplySet": "masthead._client.apply_sets",
    "DiffResult": "masthead._client.diffs",
    "ObjectDiff": "masthead._client.diffs",
    "load_manifests": "masthead._client.documents",
    "WatchEvent": "masthead._client.watch_event",
    "WatchEventType": "masthead._client.watch_event",
    "extract": "masthead._schema.extraction",
    "find_fields_owners": "masthead._schema.managed_fields_upgrade",
    "upgrade_managed_fields": "masthead._schema.managed_fields_upgrade",
    "upgrade_managed_fields_patch": "masthead._schema.managed_fields_upgrade",
    "validate": "masthead._client.validation",
    "LeaderElector": "masthead._leaderelection.leader_elector",
    "Leadership": "masthead._leaderelection.leadership",
    "LogStream": "masthead._client.logs",
    "LogLine": "masthead._client.log_line",
    "MergedLogs": "masthead._client.log_group",
    "ProxyResponse": "masthead._rest.proxied",
    "ProxyStream": "masthead._client.proxy_stream",
    "ResourceProxy": "masthead._client.proxy_verbs",
    "RemoteInput": "masthead._client.remotecommand.streams",
    "RemoteOutput": "masthead._client.remotecommand.streams",
    "PodConnection": "masthead._client.portforward.connection",
    "PortForward": "masthead._client.portforward.forward",
    "ForwardedPort": "masthead._client.portforward.port_specs",
    "RemoteProcess": "masthead._client.remotecommand.process",
    "ExecResult": "masthead._client.remotecommand.results",
    "CopyProgress": "masthead._client.cp.progress",
    "MetadataResource": "masthead._client.metadata",
    "ResourceClient": "masthead._client.resource",
    "Reviews": "masthead._client.reviews",
    "Scales": "masthead._client.scales",
    "TypedResource": "masthead._client.typed",
    "WatchStream": "masthead._client.watch",
    "WorkQueue": "masthead._workqueue.queue",
    "Config": "masthead._config.model",
    "JsonFormatter": "masthead._controller.log_formatters",
    "Permission": "masthead._controller.permissions",
    "ReconcileFilter": "masthead._controller.logs",
    "RunOptions": "masthead._controller.options",
    "RunOverrides": "masthead._controller.options",
    "TextFormatter": "masthead._controller.log_formatters",
    "setup_logging": "masthead._controller.logs",
    "Manager": "masthead._sync.manager",
    "ManagerRuntime": "masthead._controller.runtime",
    "ShardMember": "masthead._controller.shard_member",
    "Controller": "masthead._controller.controller",
    "Request": "masthead._controller.requests",
    "Result": "masthead._controller.requests",
    "Owns": "masthead._controller.declarations",
    "Watches": "masthead._controller.declarations",
    "Reads": "masthead._controller.declarations",
    "CacheReader": "masthead._controller.cache_reader",
    "ReconcileContext": "masthead._controller.context",
    "predicates": "masthead",
    "TemporaryError": "masthead.errors",
    "PermanentError": "masthead.errors",
    "CustomResource": "masthead._customresource.resource",
    "PrinterColumn": "masthead._customresource.options",
    "ScaleSubresource": "masthead._customresource.options",
    "ConversionWebhook": "masthead._customresource.options",
    "crds": "masthead._customresource.sources",
    "Field": "masthead._schema.field",
    "Rule": "masthead._schema.schema",
    "CustomResourceError": "masthead.errors",
    "DiscoveryClient": "masthead._discovery.client",
    "RestMapper": "masthead._discovery.rest_mapper",
    "AlreadyExistsError": "masthead.errors",
    "ClosedError": "masthead.errors",
    "ApplyConflictError": "masthead.errors",
    "ConflictError": "masthead.errors",
    "DeadlineError": "masthead.errors",
    "CopyError": "masthead.errors",
    "ExecError": "masthead.errors",
    "ExecTimeoutError": "masthead.errors",
    "ExpiredError": "masthead.errors",
    "ForbiddenError": "masthead.errors",
    "InformerStateError": "masthead.errors",
    "UnprocessableError": "masthead.errors",
    "LeadershipLostError": "masthead.errors",
    "ManifestError": "masthead.errors",
    "MastheadError": "masthead.errors",
    "NotFoundError": "masthead.errors",
    "ObjectFailedError": "masthead.errors",
    "QueueShutDownError": "masthead.errors",
    "RemoteCommandError": "masthead.errors",
    "SnapshotError": "masthead.errors",
    "StatusError": "masthead.errors",
    "FencingToken": "masthead._leaderelection.leadership",
    "GroupVersionKind": "masthead._meta.gvk",
    "GroupVersionResource": "masthead._meta.gvk",
    "Object": "masthead._meta.object",
    "ObjectList": "masthead._meta.object",
    "Patch": "masthead._meta.patch",
    "Quantity": "masthead._meta.quantity",
    "register": "masthead._meta.registry",
    "Unstructured": "masthead._meta.unstructured",
    "PrometheusMetrics": "masthead.metrics",
    "EventRecorder": "masthead._record.recorder",
    "ResponseStream": "masthead._rest.response_stream",
    "RestClient": "masthead._rest.client",
    "Backoff": "masthead._sansio.backoff",
    "DeltaFIFO": "masthead._sansio.deltafifo",
    "ShardRanges": "masthead._sansio.sharding",
    "ShardSet": "masthead._sansio.sharding",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
