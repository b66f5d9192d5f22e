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
    from masthead.client import conditions as conditions
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
    from masthead.client.reviews import Reviews as Reviews
    from masthead.client.scales import Scales as Scales
    from masthead.client.typed import TypedResource as TypedResource
    from masthead.client.watch import Watch as Watch
    from masthead.config.model import Config as Config
    from masthead.discovery.client import DiscoveryClient as DiscoveryClient
    from masthead.discovery.mapper import Mapper as Mapper
    from masthead.errors import AlreadyExistsError as AlreadyExistsError
    from masthead.errors import ConflictError as ConflictError
    from masthead.errors import ExpiredError as ExpiredError
    from masthead.errors import ForbiddenError as ForbiddenError
    from masthead.errors import ManifestError as ManifestError
    from masthead.errors import MastheadError as MastheadError
    from masthead.errors import NotFoundError as NotFoundError
    from masthead.errors import StatusError as StatusError
    from masthead.meta.gvk import GroupVersionKind as GroupVersionKind
    from masthead.meta.gvk import GroupVersionResource as GroupVersionResource
    from masthead.meta.object import Object as Object
    from masthead.meta.object import ObjectList as ObjectList
    from masthead.meta.patch import Patch as Patch
    from masthead.meta.quantity import Quantity as Quantity
    from masthead.meta.registry import register as register
    from masthead.meta.unstructured import Unstructured as Unstructured
    from masthead.rest.client import RestClient as RestClient

_HOMES = {
    "conditions": "masthead.client",
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
    "Reviews": "masthead.client.reviews",
    "Scales": "masthead.client.scales",
    "TypedResource": "masthead.client.typed",
    "Watch": "masthead.client.watch",
    "Config": "masthead.config.model",
    "DiscoveryClient": "masthead.discovery.client",
    "Mapper": "masthead.discovery.mapper",
    "AlreadyExistsError": "masthead.errors",
    "ConflictError": "masthead.errors",
    "ExpiredError": "masthead.errors",
    "ForbiddenError": "masthead.errors",
    "ManifestError": "masthead.errors",
    "MastheadError": "masthead.errors",
    "NotFoundError": "masthead.errors",
    "StatusError": "masthead.errors",
    "GroupVersionKind": "masthead.meta.gvk",
    "GroupVersionResource": "masthead.meta.gvk",
    "Object": "masthead.meta.object",
    "ObjectList": "masthead.meta.object",
    "Patch": "masthead.meta.patch",
    "Quantity": "masthead.meta.quantity",
    "register": "masthead.meta.registry",
    "Unstructured": "masthead.meta.unstructured",
    "RestClient": "masthead.rest.client",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
