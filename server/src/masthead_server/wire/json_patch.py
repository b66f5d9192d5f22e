r"""JSON patches, applied as kube-apiserver applies them.

Its library for them departs from RFC 6902 in places, and so does this module:

- ``replace`` adds a member that does not exist, and ``copy`` from a missing member adds null;
- ``test`` compares spellings: ``1.0`` is not ``1``, and a plain ``<`` is not Go's ``\u003c``;
- indexes may be negative, and have signs and leading zeros; text before a path's first slash is ignored.

Bodies come as bytes, since the message about a malformed one and the spelling of values depend on them.
"""

from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import msgspec

from masthead._meta import typeinfo
from masthead._meta.quoting import quoted
from masthead._schema.errors import OMITTED, invalid
from masthead_server.wire.body_limits import MAX_BODY_BYTES, nests_too_deeply, too_large
from masthead_server.wire.failures import StatusFailure, bad_request, refused_fields
from masthead_server.wire.go_duplicates import duplicate_keys
from masthead_server.wire.go_json import JsonError, decode, type_name, wrong_type
from masthead_server.wire.go_numbers import parse_int
from masthead_server.wire.patches import copy_json, refused_patch, spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from masthead_server.wire.plain import Plain

__all__ = [
    "InapplicablePatchError",
    "UndecodablePatchError",
    "apply_admission_patch",
    "apply_json_patch",
    "json_patch_errors",
]

MAX_OPERATIONS: Final = 10_000
_MAX_COPIED_BYTES: Final = MAX_BODY_BYTES
"""Bytes that all copies of a patch may have together, as in kube-apiserver."""
_MAX_STEPS: Final = 10_000
"""Steps of a path."""
_MAX_SHIFTED_ITEMS: Final = 100_000_000
"""Elements of arrays that may be shifted by others that are added or removed before them."""
_MAX_COMPARED_BYTES: Final = 16 * MAX_BODY_BYTES
"""Bytes that ``test`` operations may decode: nested values are decoded once for each level."""

_Container: TypeAlias = "dict[str, object] | list[object]"
_Operation: TypeAlias = dict[str, object]
_NULL: Final = msgspec.Raw(b"null")
_STRINGS: Final = ("op", "path", "from")
_MEMBERS: Final = frozenset({*_STRINGS, "value"})
_MISSING: Final = "missing value"
_TEST_FAILED: Final = "test failed"


class UndecodablePatchError(Exception):
    """A document is no JSON patch; the message is Go's."""


class InapplicablePatchError(Exception):
    """An operation does not apply; the message is that of kube-apiserver's library."""


class FailedTestError(InapplicablePatchError):
    """A ``test`` operation finds another value."""


def apply_json_patch(document: Plain, body: bytes, *, lenient: bool = False) -> Plain:
    """Apply a JSON patch to a copy of an object.

    Args:
        document: The object in the client's version; it is not changed, and shares nothing with the result.
        body: The patch from the request.
        lenient: Whether field validation is ``Ignore``, with which the patch's own shape is checked later.

    Raises:
        StatusFailure: If the patch is malformed, is too long, or does not apply.
    """
    # The shape is checked before the number of operations, in the order of kube-apiserver's messages.
    operations, spelling = _operations(body, lenient=lenient)
    if len(operations) > MAX_OPERATIONS:
        raise too_large(f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}")
    try:
        patched = _apply(document, operations, spelling)
    except InapplicablePatchError:
        raise _build_rejection() from None
    # A patch may replace the whole document, for example by a list.
    if not isinstance(patched, dict):
        raise refused_patch(patched, wrong_type(patched))
    return patched


def apply_admission_patch(document: Plain, body: bytes) -> Plain | list[object] | None:
    """Apply the JSON patch of an admission webhook to a copy of an object.

    Args:
        document: The object in the version that the webhook got; it is not changed.
        body: The patch.

    Returns:
        The patched document, which need not be an object; None if the patch has no operations.

    Raises:
        UndecodablePatchError: If it is no JSON patch.
        InapplicablePatchError: If an operation does not apply.
        StatusFailure: If it is too long, or its operations exceed a limit.
    """
    try:
        operations, spelling = _operations(body, lenient=True)
    except StatusFailure as failure:
        raise UndecodablePatchError(failure.message) from None
    if len(operations) > MAX_OPERATIONS:
        raise too_large(f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}")
    return _apply(document, operations, spelling) if operations else None


def _apply(document: Plain, operations: list[_Operation], spelling: _Spelling) -> _Container:
    """Apply the operations to a copy of an object.

    Raises:
        InapplicablePatchError: If one does not apply.
        StatusFailure: If they exceed a limit.
    """
    try:
        # A patch applies as a whole or not at all; so the operations modify a copy.
        patched = _Patched(copy_json(document), spelling)
        for index, operation in enumerate(operations):
            patched.apply(index, operation)
    except RecursionError:
        raise _too_deep() from None
    # Operations can nest values deeper step by step, beyond what a body may contain.
    if nests_too_deeply(patched.root):
        raise _too_deep()
    return patched.root


def json_patch_errors(body: bytes) -> list[str]:
    """List the errors of strict field validation in a JSON patch that was applied."""
    operations = cast("list[object]", decode(body) or [])
    unknown = [
        f"[{index}].{key}"
        for index, operation in enumerate(operations)
        if isinstance(operation, dict)
        for key in cast("Plain", operation)
        if key not in _MEMBERS
    ]
    # Unknown members are not searched.
    twice = [path for path in duplicate_keys(body, operations) if not path.startswith(tuple(unknown))]
    return [
        *(f"json patch unknown field {quoted(path)}" for path in unknown),
        *(f"json patch duplicate field {quoted(path)}" for path in twice),
    ]


def _build_rejection() -> StatusFailure:
    """The failure of every patch that does not apply; the reason is only in kube-apiserver's log."""
    message = "the server rejected our request due to an error in our request"
    return StatusFailure(422, "Invalid", message, details={})


def _too_deep() -> StatusFailure:
    return refused_fields("", "", "", [invalid("patch", OMITTED, "exceeded max depth")])


_decode_patch: Final = typeinfo.json_decoder(list[dict[str, msgspec.Raw] | None] | None).decode
_decode_members: Final = typeinfo.json_decoder(dict[str, msgspec.Raw]).decode
_decode_elements: Final = typeinfo.json_decoder(list[msgspec.Raw]).decode


class _Spelling:
    """The spelling of the values of a patch, which only ``test`` operations need."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def of(self, index: int) -> bytes:
        """The text of an operation's value."""
        return bytes((self._operations[index] or {}).get("value", _NULL))

    @functools.cached_property
    def _operations(self) -> list[dict[str, msgspec.Raw] | None]:
        try:
            return _decode_patch(self._body) or []
        except (msgspec.DecodeError, UnicodeDecodeError):
            # Something in it that only Go accepts; its spelling is lost.
            return _decode_patch(msgspec.json.encode(decode(self._body))) or []


def _operations(body: bytes, *, lenient: bool) -> tuple[list[_Operation], _Spelling]:
    try:
        patch = decode(body)
        problem = _problem_with(patch, lenient=lenient)
    except JsonError as error:
        patch, problem = None, str(error)
    if problem:
        raise bad_request(problem if lenient else f"error decoding patch: {problem}")
    return [operation or {} for operation in cast("list[_Operation | None]", patch or ())], _Spelling(body)


def _problem_with(patch: object, *, lenient: bool) -> str:
    """Return the message about a document that is no JSON patch; strict and lenient decoding differ in it."""
    whole, each = (
        ("jsonpatch.Patch", "jsonpatch.Operation") if lenient else ("[]handlers.jsonPatchOp", "handlers.jsonPatchOp")
    )
    # Go decodes null into an empty list, without an error.
    if patch is None:
        return ""
    if not isinstance(patch, list):
        return f"json: cannot unmarshal {type_name(patch)} into Go value of type {whole}"
    for operation in cast("list[object]", patch):
        if operation is not None and not isinstance(operation, dict):
            return f"json: cannot unmarshal {type_name(operation)} into Go value of type {each}"
        # Only the strict decoding goes into a struct, whose fields have types.
        if lenient:
            continue
        for key, value in cast("Plain", operation or {}).items():
            if key in _STRINGS and value is not None and not isinstance(value, str):
                found = type_name(value)
                return f"json: cannot unmarshal {found} into Go struct field jsonPatchOp.{key} of type string"
    return ""


class _Patched:
    """A document that operations are applied to.

    Args:
        root: The document.
        spelling: The spelling of the operations' values.
    """

    def __init__(self, root: _Container, spelling: _Spelling) -> None:
        self.root = root
        self._spelling = spelling
        self._at = 0
        self._copied = 0
        self._shifted = 0
        self._compared = 0
        self._actions: Final[dict[object, Callable[[_Operation], None]]] = {
            "add": self._add,
            "remove": self._remove,
            "replace": self._replace,
            "move": self._move,
            "copy": self._copy,
            "test": self._test,
        }

    def apply(self, index: int, operation: _Operation) -> None:
        """Apply one operation.

        Raises:
            InapplicablePatchError: If it does not apply.
            StatusFailure: If the operations exceed a limit.
        """
        name = operation.get("op")
        kind = name if isinstance(name, str) else "unknown"
        action = self._actions.get(kind)
        if action is None:
            raise InapplicablePatchError(f"Unexpected kind: {kind}")
        # The spelling of a value is found by the number of its operation.
        self._at = index
        action(operation)

    def _add(self, operation: _Operation) -> None:
        path = _read_path(operation, "path", "add operation failed to decode path", detail=_MISSING)
        container, key = self._find(path, f'add operation does not apply: doc is missing path: "{path}"')
        with _explain(f"error in add for path: '{path}'"):
            self._put(container, key, operation.get("value"))

    def _remove(self, operation: _Operation) -> None:
        path = _read_path(operation, "path", "remove operation failed to decode path", detail=_MISSING)
        container, key = self._find(path, f'remove operation does not apply: doc is missing path: "{path}"')
        with _explain(f"error in remove for path: '{path}'"):
            self._drop(container, key)

    def _replace(self, operation: _Operation) -> None:
        value = operation.get("value")
        path = _read_path(operation, "path", "replace operation failed to decode path")
        if not path:
            if not isinstance(value, dict | list):
                # Go decodes the new document into an object or array; a scalar fails there, with a nil error.
                raise InapplicablePatchError("replace operation value must be object or array: %!w(<nil>)")
            self.root = cast("_Container", value)
            return
        container, key = self._find(path, f"replace operation does not apply: doc is missing path: {path}")
        # An object gets the member even if it does not exist yet: the library of kube-apiserver does not check that.
        if isinstance(container, dict):
            container[key] = value
            return
        try:
            container[_index(key, len(container))] = value
        except InapplicablePatchError:
            problem = f"replace operation does not apply: doc is missing key: {path}: {_MISSING}"
            raise InapplicablePatchError(problem) from None

    def _move(self, operation: _Operation) -> None:
        source = _read_path(operation, "from", "move operation failed to decode from")
        container, key = self._find(source, f"move operation does not apply: doc is missing from path: {source}")
        with _explain(f"error in move for path: '{key}'"):
            value = _get(container, key)
            # Removed before it is added, as in RFC 6902: a target inside of the moved value then fails.
            self._drop(container, key)
        path = _read_path(operation, "path", "move operation failed to decode path")
        container, key = self._find(path, f"move operation does not apply: doc is missing destination path: {path}")
        with _explain(f"error in move for path: '{path}'"):
            self._put(container, key, value)

    def _copy(self, operation: _Operation) -> None:
        source = _read_path(operation, "from", "copy operation failed to decode from")
        place = self._find(source, f"copy operation does not apply: doc is missing from path: {source}")
        with _explain(f"error in copy for from: '{source}'"):
            # Encoded and decoded: the copy must share nothing with its source, which later operations may change.
            text = msgspec.json.encode(_get(*place))
        path = _read_path(operation, "path", "copy operation failed to decode path", detail=_MISSING)
        container, key = self._find(path, f"copy operation does not apply: doc is missing destination path: {path}")
        # All copies together, as kube-apiserver counts them: a few that double exceed any memory.
        self._copied += len(text)
        if self._copied > _MAX_COPIED_BYTES:
            sizes = f"{self._copied}, exceeding the limit {_MAX_COPIED_BYTES}"
            raise InapplicablePatchError(
                f"Unable to complete the copy, the accumulated size increase of copy is {sizes}"
            )
        with _explain("error while adding value during copy"):
            self._put(container, key, msgspec.json.decode(text))

    def _test(self, operation: _Operation) -> None:
        path = _read_path(operation, "path", "test operation failed to decode path")
        found: object = self.root
        if path:
            place = self._find(path, f"test operation does not apply: is missing path: {path}")
            with _explain(f"error in test for path: '{path}'"):
                found = _get(*place)
        if not self._equals(found, self._spelling.of(self._at)):
            raise FailedTestError(f"testing value {path} failed: {_TEST_FAILED}")

    def _equals(self, value: object, raw: bytes) -> bool:
        """Tell whether a value equals the text of one."""
        # Counted, because every operation of a patch may test the same large value.
        self._compared += len(raw)
        if self._compared > _MAX_COMPARED_BYTES:
            raise too_large(f"the tests of a JSON patch compare at most {_MAX_COMPARED_BYTES} bytes")
        # Objects are compared member by member, since the order of their keys does not count.
        if isinstance(value, dict):
            mine = cast("Plain", value)
            theirs = _decode_members(raw) if raw.startswith(b"{") else None
            return (
                theirs is not None
                and mine.keys() == theirs.keys()
                and all(self._equals(mine[key], bytes(raw_member)) for key, raw_member in theirs.items())
            )
        if isinstance(value, list):
            items = cast("list[object]", value)
            others = _decode_elements(raw) if raw.startswith(b"[") else []
            return (
                raw.startswith(b"[")
                and len(items) == len(others)
                and all(self._equals(item, bytes(other)) for item, other in zip(items, others, strict=True))
            )
        # Scalars are compared as they are written: 1 and 1.0 are not equal.
        return spelled(value).encode() == raw

    def _put(self, container: _Container, key: str, value: object) -> None:
        if isinstance(container, dict):
            container[key] = value
        # Only an addition may use "-", the position after the last element.
        elif key == "-":
            container.append(value)
        else:
            self._shift(container)
            # An insertion may name the position after the last element, too; a removal may not.
            place = _index(key, len(container) + 1, f"value was not a proper array index: '{key}': ")
            container.insert(place, value)

    def _drop(self, container: _Container, key: str) -> None:
        if isinstance(container, list):
            self._shift(container)
            del container[_index(key, len(container))]
        elif key in container:
            del container[key]
        else:
            raise InapplicablePatchError(f"Unable to remove nonexistent key: {key}: {_MISSING}")

    def _shift(self, array: list[object]) -> None:
        """Count the elements that an insertion or removal shifts."""
        self._shifted += len(array)
        if self._shifted > _MAX_SHIFTED_ITEMS:
            raise too_large(f"the operations of a JSON patch move at most {_MAX_SHIFTED_ITEMS} elements")

    def _find(self, path: str, problem: str) -> tuple[_Container, str]:
        """Follow a path to the object or array that contains its target."""
        # No document is as deep as a longer path.
        steps = path.split("/", _MAX_STEPS)
        missing = InapplicablePatchError(f"{problem}: {_MISSING}")
        if not 1 < len(steps) <= _MAX_STEPS:
            raise missing
        container = self.root
        for step in steps[1:-1]:
            try:
                found = _get(container, _unescape_step(step))
            except InapplicablePatchError:
                raise missing from None
            if not isinstance(found, dict | list):
                raise missing
            container = cast("_Container", found)
        return container, _unescape_step(steps[-1])


@contextmanager
def _explain(problem: str) -> Generator[None]:
    """Put the operation in front of the message of its error."""
    try:
        yield
    except InapplicablePatchError as error:
        raise InapplicablePatchError(f"{problem}: {error}") from None


def _read_path(operation: _Operation, member: str, problem: str, *, detail: str = "") -> str:
    """Return a path of an operation.

    Args:
        operation: The operation.
        member: The member with the path.
        problem: The beginning of the message about a missing path.
        detail: The end of the message; by default Go's reason.
    """
    found = operation.get(member)
    if isinstance(found, str):
        return found
    if not detail and found is not None:
        detail = f"json: cannot unmarshal {type_name(found)} into Go value of type string"
    comma = "," if member == "from" else ""
    raise InapplicablePatchError(f"{problem}: {detail or f'operation{comma} missing {member} field: {_MISSING}'}")


def _unescape_step(step: str) -> str:
    # In this order: "~01" means "~1", and not "/".
    return step.replace("~1", "/").replace("~0", "~")


def _index(key: str, length: int, syntax_problem: str = "") -> int:
    """Parse an index of an array of this length; negative ones count from its end."""
    try:
        index = parse_int(key)
    except ValueError as error:
        raise InapplicablePatchError(f"{syntax_problem}strconv.Atoi: parsing {quoted(key)}: {error}") from None
    if not -length <= index < length:
        raise InapplicablePatchError(f"Unable to access invalid index: {index}: invalid index referenced")
    # An empty array has no valid index, so that the modulus is never zero.
    return index % length


def _get(container: _Container, key: str) -> object:
    return container.get(key) if isinstance(container, dict) else container[_index(key, len(container))]
