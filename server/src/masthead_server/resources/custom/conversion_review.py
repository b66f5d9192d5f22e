"""ConversionReviews: the request to a conversion webhook, and the validation of its response.

Everything here is pure; `masthead_server.webhooks` sends the review.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead._meta.quoting import quoted
from masthead_server.resources.strategy import Strategy
from masthead_server.resources.validation.metadata import create_errors
from masthead_server.wire import go_json
from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._schema.errors import FieldError

__all__ = ["ConversionError", "ConversionRequest", "choose_version"]

_GROUP: Final = "apiextensions.k8s.io"
_KIND: Final = "ConversionReview"
_SUPPORTED: Final = frozenset({"v1", "v1beta1"})
_IDENTITY: Final = (("name", "name"), ("namespace", "namespace"), ("UID", "uid"))
"""The metadata that a webhook may not change, by its name in messages."""
_SCHEME: Final = "pkg/util/webhook/client.go:71"
_STRATEGY: Final = Strategy(known_finalizers=False)


class ConversionError(Exception):
    """An object cannot be converted; the message is kube-apiserver's."""


def choose_version(versions: Sequence[str]) -> str:
    """Return the first version of ConversionReviews that a webhook understands and the server knows.

    Raises:
        ConversionError: If it is missing.
    """
    for version in versions:
        if version in _SUPPORTED:
            return version
    raise ConversionError("no supported conversion review versions")


@dataclass(frozen=True, slots=True)
class ConversionRequest:
    """Objects of one kind and version to convert to another version.

    Attributes:
        uid: Identifies the request.
        review_version: The version of the ConversionReview.
        target: The API version to convert to.
        objects: The objects, with their kind and apiVersion.
    """

    uid: str
    review_version: str
    target: str
    objects: Sequence[Plain]

    @property
    def _subject(self) -> str:
        first = self.objects[0]
        return f"conversion webhook for {text(first, 'apiVersion')}, Kind={text(first, 'kind')}"

    def encode(self) -> bytes:
        """Encode the ConversionReview."""
        request = {"uid": self.uid, "desiredAPIVersion": self.target, "objects": list(self.objects)}
        response: Plain = {"uid": "", "convertedObjects": None, "result": {"metadata": {}}}
        head = {"kind": _KIND, "apiVersion": f"{_GROUP}/{self.review_version}"}
        return msgspec.json.encode({**head, "request": request, "response": response})

    def failure(self, problem: str) -> ConversionError:
        """Return the error of a call that has failed."""
        return ConversionError(f"{self._subject} failed: {problem}")

    def read(self, body: bytes) -> list[Plain]:
        """Return the converted objects of a response, in order and with the metadata that they must keep.

        Raises:
            ConversionError: If the response is invalid, or is a refusal.
        """
        converted = self._read_objects(self._response(body))
        # Objects are matched by position, so that a missing one would shift all others.
        if len(converted) != len(self.objects):
            raise ConversionError(f"{self._subject} returned {len(converted)} objects, expected {len(self.objects)}")
        return [self._accept(*item) for item in zip(self.objects, converted, strict=True)]

    def _response(self, body: bytes) -> Plain:
        try:
            review = go_json.decode(body)
        except go_json.JsonError as error:
            raise self.failure(f"couldn't get version/kind; json parse error: {error}") from None
        if problem := go_json.wrong_type(review):
            raise self.failure(problem)
        return cast("Plain", review or {})

    def _read_objects(self, review: Plain) -> list[Plain]:
        kind, version = text(review, "kind"), text(review, "apiVersion")
        if kind != _KIND or version not in {f"{_GROUP}/{item}" for item in _SUPPORTED}:
            problem = f"no kind {quoted(kind)} is registered for version {quoted(version)}"
            raise self.failure(f"{problem} in scheme {quoted(_SCHEME)}")
        response = part(review, "response")
        if not response:
            raise self.failure("no response provided")
        # The older version was never that strict.
        if self.review_version == "v1" and text(response, "uid") != self.uid:
            wanted, got = quoted(self.uid), quoted(text(response, "uid"))
            raise self.failure(f"expected response.uid={wanted}, got {got}")
        result = part(response, "result")
        if text(result, "status") != "Success":
            status = f"response.result.status was '{text(result, 'status')}', not 'Success'"
            # The webhook's own message is the most useful one.
            raise self.failure(text(result, "message") or status)
        return items(response, "convertedObjects")

    def _accept(self, original: Plain, converted: Plain) -> Plain:
        expected, got = self.target, text(converted, "apiVersion")
        if expected != got:
            problem = f"invalid groupVersion (expected {expected}, received {got})"
            raise ConversionError(f"{self._subject} returned invalid object at index 0: {problem}")
        expected, got = text(original, "kind"), text(converted, "kind")
        if expected != got:
            problem = f"invalid kind (expected {expected}, received {got})"
            raise ConversionError(f"{self._subject} returned invalid object at index 0: {problem}")
        before, after = part(original, "metadata"), part(converted, "metadata")
        for name, field in _IDENTITY:
            if text(before, field) != text(after, field):
                problem = f"must have the same {name}: {text(before, field)} != {text(after, field)}"
                raise ConversionError(f"{self._subject} returned invalid object: {problem}")
        return {**converted, "metadata": self._restore_metadata(before, after)}

    def _restore_metadata(self, before: Plain, after: Plain) -> Plain:
        """The metadata of a converted object: all of the original's but labels and annotations."""
        restored = {key: value for key, value in before.items() if key not in {"labels", "annotations"}}
        for field in ("labels", "annotations"):
            if after.get(field) is None:
                continue
            # A webhook may change labels and annotations, the usual place for fields that a version lacks.
            if problem := _map_problem(field, after[field], before.get(field)):
                raise ConversionError(f"{self._subject} returned invalid metadata: {problem}")
            restored[field] = after[field]
        return restored


def _map_problem(field: str, value: object, before: object) -> str:
    if not isinstance(value, dict):
        return f"invalid metadata.{field} of type {_go_type(value)} in converted object"
    found = cast("Plain", value)
    for key, nested in found.items():
        if not isinstance(nested, str):
            return f"metadata.{field}[{key}] must be a string, but is {_go_type(nested)} in converted object"
    # Unchanged values were validated when they were written.
    if found == before:
        return ""
    errors: list[FieldError] = create_errors({"metadata": {"name": "a", field: found}}, _STRATEGY, namespaced=False)
    # Go aggregates errors, and drops repeated messages.
    messages = list(dict.fromkeys(map(str, errors)))
    return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]" if messages else ""


def _go_type(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value) and value.is_integer()):
        return "int64"
    return _GO_TYPES.get(type(value), "<nil>")


_GO_TYPES: Final[dict[type, str]] = {
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}
