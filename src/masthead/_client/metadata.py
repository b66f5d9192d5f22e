"""The metadata client: objects of any kind as PartialObjectMetadata, at a fraction of the size."""

from __future__ import annotations

from masthead._client.delete_verbs import DeleteVerbs
from masthead._client.patch_verbs import PatchVerbs
from masthead._client.read_verbs import ReadVerbs
from masthead._meta.v1 import PartialObjectMetadata
from masthead._module import set_module

__all__ = ["MetadataResource"]


@set_module("masthead.aio.clientset")
class MetadataResource(
    ReadVerbs[PartialObjectMetadata], PatchVerbs[PartialObjectMetadata], DeleteVerbs[PartialObjectMetadata]
):
    """The objects of a resource, read as PartialObjectMetadata."""

    _ITEM = PartialObjectMetadata
