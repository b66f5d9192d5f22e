"""Patch: the formats of patches, and how they change an object; `masthead_server.verbs.apply` handles apply."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, cast

from masthead_server.resources.go_values import Mismatch
from masthead_server.verbs import bodies, write
from masthead_server.verbs.write_steps import nameless
from masthead_server.wire import json_patch, patches
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.go_duplicates import duplicate_keys
from masthead_server.wire.go_json import decode
from masthead_server.wire.request import JSON_PATCH_TYPE, MERGE_PATCH_TYPE, STRATEGIC_MERGE_PATCH_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._meta.apitype import ApiType
    from masthead._meta.gvk import GroupVersionKind
    from masthead_server.resources.resource import ServedResource
    from masthead_server.verbs.bodies import RefusalFactory
    from masthead_server.verbs.write import Written
    from masthead_server.verbs.write_context import WriteContext
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.request import ApiRequest

__all__ = ["PATCH_FORMATS", "PatchFormat", "PatchResult", "RequestPatch", "patch_object", "patch_type"]


@dataclass(frozen=True, slots=True)
class PatchResult:
    """What a patch makes of an object.

    Attributes:
        content: The patched object.
        strict_errors: Lists what strict field validation finds in the patch.
        refuse: Makes the failure if the result is no object of its kind, given the result and the message.
    """

    content: Plain
    strict_errors: Callable[[], list[str]]
    refuse: RefusalFactory = patches.refused_patch


class PatchFormat(Protocol):
    """A format of patches: applies one to a copy of an object."""

    def __call__(self, document: Plain, body: bytes, gvk: GroupVersionKind, *, lenient: bool) -> PatchResult:
        """Apply a patch.

        Args:
            document: The object as the client sees it; it is not changed.
            body: The body of the request.
            gvk: The object's kind.
            lenient: Whether field validation is ``Ignore``.

        Raises:
            StatusFailure: If it cannot be read, or does not apply.
        """
        ...


def _apply_json(document: Plain, body: bytes, gvk: GroupVersionKind, *, lenient: bool) -> PatchResult:
    del gvk
    patched = json_patch.apply_json_patch(document, body, lenient=lenient)
    return PatchResult(patched, functools.partial(json_patch.json_patch_errors, body))


def _apply_merge(document: Plain, body: bytes, gvk: GroupVersionKind, *, lenient: bool) -> PatchResult:
    del gvk
    patched = patches.apply_merge_patch(document, body, lenient=lenient)
    return PatchResult(patched, functools.partial(patches.merge_patch_errors, body))


def _apply_strategic(document: Plain, body: bytes, gvk: GroupVersionKind, *, lenient: bool) -> PatchResult:
    del lenient  # nothing depends on it before the errors are reported
    from masthead._schema.merge_definitions import merge_rules_of
    from masthead_server import scheme
    from masthead_server.resources.unstructured import restore
    from masthead_server.wire import strategic_merge

    cls = scheme.object_class(gvk)
    patch = strategic_merge.read_strategic_patch(body)
    kept = {"kind": document["kind"], "apiVersion": document["apiVersion"]}
    merged = strategic_merge.merge_strategically(patches.copy_json(document), patch, merge_rules_of(cls))

    def refuse(_: Plain, problem: str) -> StatusFailure:
        # kube-apiserver prints the rest of the patch: merging removes the parts that it has applied.
        return strategic_merge.refused_strategic_patch(patch, problem)

    try:
        patched, unknown = restore(merged, cast("ApiType", cls))
    except Mismatch as error:
        raise refuse(merged, str(error)) from None

    def strict_errors() -> list[str]:
        return [
            # Decoded once more, because merging has changed the patch.
            *(f'duplicate field "{path}"' for path in duplicate_keys(body, decode(body))),
            *(f'unknown field "{path}"' for path in unknown),
        ]

    # The patch cannot change what the object is.
    return PatchResult({**patched, **kept}, strict_errors, refuse)


PATCH_FORMATS: Final[Mapping[str, PatchFormat]] = {
    JSON_PATCH_TYPE: _apply_json,
    MERGE_PATCH_TYPE: _apply_merge,
    STRATEGIC_MERGE_PATCH_TYPE: _apply_strategic,
}
"""The formats by media type, except for apply. `ServedResource.patch_types` lists those of a resource."""


class RequestPatch:
    """The patch that a request brings.

    Args:
        request: The request.
        media_type: Its media type, one of `PATCH_FORMATS`.
    """

    def __init__(self, request: ApiRequest, media_type: str) -> None:
        self._format = PATCH_FORMATS[media_type]
        self._body = request.body

    def apply(self, document: Plain, gvk: GroupVersionKind, *, lenient: bool) -> PatchResult:
        """Apply it to a copy of an object of a kind.

        Raises:
            StatusFailure: If it cannot be read, or does not apply.
        """
        return self._format(document, self._body, gvk, lenient=lenient)


def patch_type(request: ApiRequest, served: ServedResource) -> str:
    """Return the media type of a patch.

    Raises:
        StatusFailure: If the resource does not accept it.
    """
    sent = request.headers.get("content-type", "")
    media_type = sent.partition(";")[0]
    if media_type in served.patch_types:
        return media_type
    # kube-apiserver's router of built-in resources accepts lists and spaces; its message is shorter than the handler's.
    if not served.is_custom and not any(
        media_type_clause.partition(";")[0].strip() in served.patch_types for media_type_clause in sent.split(",")
    ):
        raise StatusFailure(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    accepted = ", ".join(served.patch_types)
    message = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    raise StatusFailure(415, "UnsupportedMediaType", message)


async def patch_object(context: WriteContext, patch: RequestPatch) -> Written:
    """Apply a patch to an object, in the version that the client uses, and store what comes of it.

    Raises:
        StatusFailure: If there is no such object, or if the patch or its result is refused.
    """
    served, options = context.served, context.options

    async def change(old: Plain) -> Plain:
        # A patch may test or replace kind and apiVersion, so it sees the object as a GET returns it.
        document = {"kind": served.kind, "apiVersion": served.api_version, **served.from_storage(old)}
        result = patch.apply(document, served.gvk, lenient=options.field_validation == "Ignore")
        patched = result.content
        if not patched.get("kind") and not patched.get("apiVersion"):
            options.warnings.extend(f'unknown field "{name}"' for name in sorted(patched))
            raise nameless(context.name)
        if problem := served.codec.kind_problem(patched):
            raise result.refuse(patched, problem)
        errors = result.strict_errors() if options.field_validation != "Ignore" else []
        decoded = bodies.drop_unknown(patched, served.codec, options, errors, result.refuse)
        return write.to_stored(context, decoded)

    return await write.update(context, change)
