"""Discovery of the resources that a cluster serves, and their mapping from names, kinds and short names.

`DiscoveryClient` (``client.discovery``) lists groups, resources and OpenAPI documents, cached in memory and optionally on
disk (`DiskCache`). `RestMapper` (``client.mapper``) finds the resource of a name, a kind or a category.

The names below can be imported from here; each is imported when it is first used.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._discovery.client import DiscoveryClient as DiscoveryClient
    from masthead._discovery.disk_cache import DiskCache as DiskCache
    from masthead._discovery.model import DiscoveryResult as DiscoveryResult
    from masthead._discovery.model import ServedGroup as ServedGroup
    from masthead._discovery.model import ServedResource as ServedResource
    from masthead._discovery.model import ServerVersion as ServerVersion
    from masthead._discovery.rest_mapper import RestMapper as RestMapper

_HOMES = {
    "DiscoveryClient": "masthead._discovery.client",
    "DiskCache": "masthead._discovery.disk_cache",
    "RestMapper": "masthead._discovery.rest_mapper",
    "ServedGroup": "masthead._discovery.model",
    "ServedResource": "masthead._discovery.model",
    "DiscoveryResult": "masthead._discovery.model",
    "ServerVersion": "masthead._discovery.model",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
