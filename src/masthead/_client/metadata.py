"""The metadata of objects of any kind: what garbage collectors and dashboards need, at a fraction of the size."""

from __future__ import annotations

from masthead._client.deleting import Deleting, Patching
from masthead._client.reading import Reading
from masthead._meta.v1 import PartialObjectMetadata

__all__ = ["MetadataResource"]


class MetadataResource(
    Reading[PartialObjectMetadata], Patching[PartialObjectMetadata], Deleting[PartialObjectMetadata]
):
    """The objects of a resource, of which the server sends the metadata only."""

    _ITEM = PartialObjectMetadata
