"""The manifests of a dump: objects without a uid, which the server creates as a client would."""

from __future__ import annotations

from copy import deepcopy
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.storage import JournalError
from masthead_server.verbs import write
from masthead_server.verbs.write_context import WriteContext
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.options import WriteOptions
from masthead_server.wire.plain import metadata, part, text
from masthead_server.wire.user_info import ADMIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.cluster import ClusterState
    from masthead_server.loading.sources import DumpedObject
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["Manifest", "create_manifests"]

_MANAGER: Final = "masthead-load"
_FIRST: Final = frozenset(
    {"PriorityClass", "RuntimeClass", "StorageClass", "IngressClass", "ServiceAccount", "LimitRange"}
)
_LAST: Final = frozenset(
    {
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicyBinding",
    }
)


class Manifest(NamedTuple):
    """An object without a uid.

    Attributes:
        dumped: Where it is from.
        served: Its resource, in the version of the object.
        content: The object, decoded.
    """

    dumped: DumpedObject
    served: ServedResource
    content: Plain

    @property
    def rank(self) -> int:
        """When to create it: what admission of other objects reads comes first, what may refuse them last."""
        kind = self.served.gvk.kind
        return 0 if kind in _FIRST else 2 if kind in _LAST else 1


async def create_manifests(cluster: ClusterState, manifests: Sequence[Manifest]) -> None:
    """Create objects through admission, validation and defaults, each with its status, if it has one.

    An object that the cluster has already, such as the service account ``default``, is replaced.

    Raises:
        ConfigError: If an object is refused.
        JournalError: One could not be stored.
    """
    for manifest in sorted(manifests, key=lambda manifest: manifest.rank):
        try:
            await _create(cluster, manifest)
        except JournalError:
            raise
        except StatusFailure as failure:
            raise manifest.dumped.fail(failure.message) from None


async def _create(cluster: ClusterState, manifest: Manifest) -> None:
    served, name = manifest.served, text(metadata(manifest.content), "name")
    status = part(manifest.content, "status")
    try:
        written = await write.create(_context_of(cluster, manifest, ""), deepcopy(manifest.content))
    except StatusFailure as failure:
        if failure.code != HTTPStatus.CONFLICT or failure.reason != "AlreadyExists":
            raise
        written = await write.replace(_context_of(cluster, manifest, name), lambda: deepcopy(manifest.content))
    stored = served.codec.load(written.value)

    async def with_status(found: Plain) -> Plain:
        found["status"] = part(served.to_storage(deepcopy(manifest.content)), "status")
        return found

    # A custom resource may have an ordinary field of that name.
    if status and status != part(stored, "status"):
        name = text(metadata(stored), "name")
        await write.update(_context_of(cluster, manifest, name, subresource="status"), with_status)


def _context_of(cluster: ClusterState, manifest: Manifest, name: str, *, subresource: str = "") -> WriteContext:
    namespace = text(metadata(manifest.content), "namespace")
    options = WriteOptions()
    return WriteContext(
        cluster, manifest.served, namespace, name, options, user=ADMIN, subresource=subresource, manager=_MANAGER
    )
