"""Answers AdmissionReviews with the functions of validating and mutating webhooks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.object import Object
from masthead._schema.errors import FieldError
from masthead._webhook.denials import (
    DeniedError,
    InvalidObjectError,
    check_field_errors,
    denial_status,
    invalid_status,
)
from masthead._webhook.json_patch import compute_json_patch
from masthead._webhook.reviews import decode_review, encode_response, typed_request
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from masthead._meta.patch import JsonOperation
    from masthead._webhook.declarations import AdmissionWebhook
    from masthead._webhook.function_calls import FunctionCalls
    from masthead._webhook.requests import AdmissionRequest
    from masthead._webhook.reviews import AdmissionReview

__all__ = ["AdmissionHandler"]

_IDENTITY: Final = ("name", "namespace", "uid")


class AdmissionHandler:
    """Answers the reviews of one webhook.

    Args:
        webhook: The declared webhook.
        calls: Calls its function.
    """

    def __init__(self, webhook: AdmissionWebhook, calls: FunctionCalls) -> None:
        self._webhook = webhook
        self._calls = calls

    @property
    def name(self) -> str:
        """The name of the webhook."""
        return self._webhook.name

    @property
    def timeout(self) -> float:
        """Seconds until the API server gives up a call."""
        return self._webhook.timeout

    async def respond(self, body: bytes, limit: float) -> bytes:
        """Answer a review.

        Args:
            body: The AdmissionReview.
            limit: The time limit in seconds.

        Raises:
            ReviewError: If the body is not a review of this kind.
            CallTimeoutError: If the function takes too long.
            TooManyCallsError: If too many functions are running.
            Exception: Whatever the function raises; the API server then follows the failure policy.
        """
        review = decode_review(body)
        given = review.request
        assert given is not None
        gvk = GroupVersionKind(given.kind.group, given.kind.version, given.kind.kind)
        request = typed_request(review, self._webhook.class_for(gvk))
        status: dict[str, object] | None = None
        patch: list[JsonOperation] = []
        try:
            returned = await self._calls.call(
                self._webhook.function,
                request,
                request.subject,
                is_async=self._webhook.is_async,
                takes_client=self._webhook.takes_client,
                limit=limit,
            )
            if self._webhook.role == "mutate":
                patch = _patch_of(review, request, returned)
            elif errors := _errors_of(returned):
                status = invalid_status(request.kind, _name_of(request), errors)
        except DeniedError as denied:
            status = denial_status(denied)
        except InvalidObjectError as invalid:
            status = invalid_status(request.kind, _name_of(request), invalid.errors)
        return encode_response(
            review,
            status=status,
            patch=patch,
            warnings=request.warnings,
            audit_annotations=request.audit_annotations,
        )


def _name_of(request: AdmissionRequest[Any]) -> str:
    """Return the name for messages; that of an unnamed object is the prefix of its generated name."""
    metadata = request.subject.metadata
    return request.name or metadata.name or metadata.generate_name or ""


def _errors_of(returned: object) -> tuple[FieldError, ...]:
    if returned is None:
        return ()
    if isinstance(returned, FieldError):
        return (returned,)
    if isinstance(returned, Iterable) and not isinstance(returned, str | bytes | Object):
        return check_field_errors(cast("Iterable[object]", returned))
    raise ArgumentError(
        f"a validation returned {returned!r}; return None, a FieldError or several, or raise DeniedError",
        value=returned,
    )


def _patch_of(review: AdmissionReview, request: AdmissionRequest[Any], returned: object) -> list[JsonOperation]:
    """Return the difference between the object of a review and the result of a mutation."""
    if request.object is None:
        return []  # the API server ignores the mutation of a deleted object
    changed = request.object if returned is None else returned
    if not isinstance(changed, Object) or changed.gvk != request.object.gvk:
        raise ArgumentError(
            f"a mutation returned {returned!r}; edit the object and return None, or return a {request.object.gvk.kind}",
            value=returned,
        )
    assert review.request is not None
    before = msgspec.json.decode(review.request.object)
    after = msgspec.json.decode(changed.to_json())
    if changed is not request.object:
        after["metadata"] = _complete_metadata(before["metadata"], after.get("metadata", {}))
    _check_identity(before["metadata"], after["metadata"])
    return compute_json_patch(before, after)


def _check_identity(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Check that a mutation keeps the identity of an object: the API server would store another one.

    Raises:
        ArgumentError: If not.
    """
    for field in _IDENTITY:
        # A mutation may name an object that has no name yet.
        if before.get(field) and before[field] != after.get(field):
            raise ArgumentError(
                f"a mutation changed metadata.{field} from {before[field]!r} to {after.get(field)!r}; edit the object "
                "that the function gets, or return one with its metadata: Kind(metadata=obj.metadata, ...)",
                value=after.get(field),
            )


def _complete_metadata(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a returned object; a new object gets the metadata that it does not set.

    Metadata with the managed fields or the uid is a copy, and counts as it is, as for conversions. The API server sets
    the managed fields before it calls webhooks, and the uid of a created object later.
    """
    is_copy = bool(after.get("managedFields") or after.get("uid") == before.get("uid", ""))
    return after if is_copy else {**before, **{key: value for key, value in after.items() if value}}
