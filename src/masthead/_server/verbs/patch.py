"""Patch: the formats that the server knows, and what a patch makes of an object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from masthead._server.verbs import bodies, write
from masthead._server.verbs.write_steps import nameless
from masthead._server.wire import json_patch, patches
from masthead._server.wire.failures import StatusFailure
from masthead._server.wire.request import JSON_PATCH_TYPE, MERGE_PATCH_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._server.resources.resource import ServedResource
    from masthead._server.verbs.write import WriteContext, Written
    from masthead._server.wire.plain import Plain
    from masthead._server.wire.request import ApiRequest

__all__ = ["PATCH_FORMATS", "RequestPatch", "PatchFormat", "patch_object"]


class _Apply(Protocol):
    def __call__(self, document: Plain, body: bytes, *, lenient: bool = False) -> Plain: ...


@dataclass(frozen=True, slots=True)
class PatchFormat:
    """A format of patches.

    Attributes:
        apply: Applies a patch to a copy of an object.
        strict_errors: Lists what strict field validation finds in a patch that was applied.
    """

    apply: _Apply
    strict_errors: Callable[[bytes], list[str]]


PATCH_FORMATS: Final[Mapping[str, PatchFormat]] = {
    JSON_PATCH_TYPE: PatchFormat(json_patch.apply_json_patch, json_patch.json_patch_errors),
    MERGE_PATCH_TYPE: PatchFormat(patches.apply_merge_patch, patches.merge_patch_errors),
}
"""The formats by media type. Which of them a resource accepts, it says itself: see
`ServedResource.patch_types`."""


class RequestPatch:
    """The patch that a request brings.

    Args:
        request: The request.
        served: The resource that it is for.

    Raises:
        StatusFailure: If the resource does not accept its format.
    """

    def __init__(self, request: ApiRequest, served: ServedResource) -> None:
        media_type = bodies.media_type(request)
        if media_type not in served.patch_types:
            raise StatusFailure(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
        self._format = PATCH_FORMATS[media_type]
        self._body = request.body

    def apply(self, document: Plain, *, lenient: bool) -> Plain:
        """Apply it to a copy of an object.

        Raises:
            StatusFailure: If it cannot be read, or does not apply.
        """
        return self._format.apply(document, self._body, lenient=lenient)

    def strict_errors(self) -> list[str]:
        """List what strict field validation finds in it, once it was applied."""
        return self._format.strict_errors(self._body)


def patch_object(context: WriteContext, patch: RequestPatch) -> Written:
    """Apply a patch to an object, in the version that the client uses, and store what comes of it.

    Raises:
        StatusFailure: If there is no such object, or if the patch or its result is refused.
    """
    served, options = context.served, context.options

    def change(old: Plain) -> Plain:
        # A patch may test or replace kind and apiVersion, so it sees the object as a GET returns it.
        document = {"kind": served.kind, "apiVersion": served.api_version, **served.from_storage(old)}
        patched = patch.apply(document, lenient=options.field_validation == "Ignore")
        if not patched.get("kind") and not patched.get("apiVersion"):
            options.warnings.extend(f'unknown field "{name}"' for name in sorted(patched))
            raise nameless(context.name)
        if problem := patches.problem_with_kind(patched, served.kind, served.api_version):
            raise patches.refused_patch(patched, problem)
        errors = patch.strict_errors() if options.field_validation != "Ignore" else []
        decoded = bodies.drop_unknown(patched, served.codec, options, errors, patches.refused_patch)
        return write.to_stored(context, decoded)

    return write.update(context, change)
