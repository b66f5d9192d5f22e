r"""JSON patches and merge patches, applied as kube-apiserver applies them.

Its library for them departs from RFC 6902 and RFC 7386 in places, and so does this module:

- ``replace`` puts a member that is not there, and ``copy`` of one that is not there puts null;
- ``test`` compares how things are spelled: ``1.0`` is not ``1``, and a plain ``<`` is not Go's ``\u003c``;
- indexes may be negative, and have signs and leading zeros; what stands before a path's first slash is ignored;
- a merge patch also loses the nulls of the objects within its lists.

Bodies come as bytes, since the words for a malformed one and the spelling of values depend on them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, cast

import msgspec

from masthead._meta import typeinfo
from masthead._server.wire.failures import (
    OMITTED,
    StatusFailure,
    bad_request,
    invalid,
    quoted,
    refused_fields,
    shown,
)
from masthead._server.wire.go_json import (
    JsonError,
    decode,
    duplicate_keys,
    refused_kind,
    type_name,
    wrong_type,
)
from masthead._server.wire.go_numbers import parse_int
from masthead._server.wire.limits import BODY_LIMIT, nests_too_deeply, too_large

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._server.wire.plain import Plain

__all__ = [
    "JSON_PATCH",
    "MERGE_PATCH",
    "apply_json_patch",
    "apply_merge_patch",
    "json_patch_slips",
    "merge_patch_slips",
    "refused_patch",
]

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
MAX_OPERATIONS: Final = 10_000
_MOST_COPIED: Final = BODY_LIMIT
"""Bytes that all copies of a patch may have together; as in the real server."""
_MOST_STEPS: Final = 10_000
"""Steps of a path."""
_MOST_SHIFTED: Final = 100_000_000
"""Elements of arrays that may have to move because others come or go before them."""
_MOST_COMPARED: Final = 16 * BODY_LIMIT
"""Bytes that tests may read: what nests is read once for each level."""

_T = TypeVar("_T")
_Container: TypeAlias = "dict[str, object] | list[object]"
_Operation: TypeAlias = dict[str, object]
_NULL: Final = msgspec.Raw(b"null")
_STRINGS: Final = ("op", "path", "from")
_MEMBERS: Final = frozenset({*_STRINGS, "value"})


def apply_json_patch(document: Plain, body: bytes, *, lenient: bool = False) -> Plain:
    """Apply a JSON patch to a copy of an object.

    Args:
        document: The object as the client sees it; it is not changed, and shares nothing with the result.
        body: The patch as it was sent.
        lenient: Whether field validation is ``Ignore``, in which the shape of the patch is looked at later.

    Raises:
        StatusFailure: The patch cannot be read, is too long, or does not apply.
    """
    operations, spelling = _operations(body, lenient=lenient)
    if len(operations) > MAX_OPERATIONS:
        raise too_large(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    try:
        patched = _Patched(_copied(document), spelling)
        for index, operation in enumerate(operations):
            patched.apply(index, operation)
    except _Inapplicable:
        raise _rejected() from None
    except RecursionError:
        raise _too_deep() from None
    if nests_too_deeply(patched.root):
        raise _too_deep()
    if not isinstance(patched.root, dict):
        raise refused_patch(patched.root, wrong_type(patched.root))
    return patched.root


def apply_merge_patch(document: Plain, body: bytes, *, lenient: bool = False) -> Plain:
    """Apply a merge patch to a copy of an object.

    Args:
        document: The object as the client sees it; it is not changed, and shares nothing with the result.
        body: The patch as it was sent.
        lenient: Whether field validation is ``Ignore``.

    Raises:
        StatusFailure: The patch cannot be read, or is no object.
    """
    bad_patch = bad_request("Invalid JSON Patch")
    try:
        patch = decode(body)
    except JsonError as problem:
        raise bad_patch if lenient else bad_request(f"error decoding patch: {problem}") from None
    found = type_name(patch)
    if found == "object":
        return cast("Plain", _merged(_copied(document), patch))
    if patch is None or (lenient and found != "array"):
        raise bad_patch
    if lenient:
        raise refused_patch(_pruned(patch), wrong_type(patch))
    said = f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    raise bad_request(f"error decoding patch: {said}")


def json_patch_slips(body: bytes) -> list[str]:
    """List what strict field validation finds in a JSON patch that was applied, in the server's words."""
    operations = cast("list[object]", decode(body) or [])
    unknown = [
        f"[{index}].{key}"
        for index, operation in enumerate(operations)
        if isinstance(operation, dict)
        for key in cast("Plain", operation)
        if key not in _MEMBERS
    ]
    # Nothing is looked for within what is unknown.
    twice = [path for path in duplicate_keys(body, operations) if not path.startswith(tuple(unknown))]
    return [
        *(f"json patch unknown field {quoted(path)}" for path in unknown),
        *(f"json patch duplicate field {quoted(path)}" for path in twice),
    ]


def merge_patch_slips(body: bytes) -> list[str]:
    """List what strict field validation finds in a merge patch that was applied, in the server's words."""
    return [f"duplicate field {quoted(path)}" for path in duplicate_keys(body, decode(body))]


def problem_with_kind(patched: Plain, kind: str, api_version: str) -> str:
    """Say that a patch made an object of another kind out of this one; empty if it did not."""
    refusal = refused_kind(patched, b"", kind, api_version)
    if refusal is None:
        return ""
    return refusal.message.partition(f"cannot be handled as a {kind}: ")[2] or refusal.message


def refused_patch(patched: object, problem: str) -> StatusFailure:
    """What a patch made of the object is no object of its kind."""
    if type_name(patched) == "object":
        patched = dict(sorted(cast("Plain", patched).items()))
    return refused_fields("", "", "", [invalid("patch", _spelled(patched), problem)])


def _rejected() -> StatusFailure:
    """The one answer to every patch that does not apply; why is only in the real server's log."""
    message = "the server rejected our request due to an error in our request"
    return StatusFailure(422, "Invalid", message, details={})


def _too_deep() -> StatusFailure:
    return refused_fields("", "", "", [invalid("patch", OMITTED, "exceeded max depth")])


def _copied(value: _T) -> _T:
    # Many times faster than copy.deepcopy.
    return cast("_T", msgspec.json.decode(msgspec.json.encode(value)))


def _spelled(value: object) -> str:
    """Write JSON as Go does."""
    return shown([value])[1:-1]


# -- reading JSON patches ----------------------------------------------------------------------------------------


_decode_patch: Final = typeinfo.json_decoder(list[dict[str, msgspec.Raw] | None] | None).decode
_decode_members: Final = typeinfo.json_decoder(dict[str, msgspec.Raw]).decode
_decode_elements: Final = typeinfo.json_decoder(list[msgspec.Raw]).decode


class _Spelling:
    """How the values of a patch's operations are spelled, which only tests ask for."""

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
            # Something in it that only Go takes; how it was spelled is lost.
            return _decode_patch(msgspec.json.encode(decode(self._body))) or []


def _operations(body: bytes, *, lenient: bool) -> tuple[list[_Operation], _Spelling]:
    try:
        patch = decode(body)
        problem = _problem_with(patch, lenient=lenient)
    except JsonError as error:
        patch, problem = None, str(error)
    if problem:
        raise bad_request(problem if lenient else f"error decoding patch: {problem}")
    return [each or {} for each in cast("list[_Operation | None]", patch or ())], _Spelling(body)


def _problem_with(patch: object, *, lenient: bool) -> str:
    """Say why a document is no JSON patch; the two ways to read it name their types differently."""
    whole, each = (
        ("jsonpatch.Patch", "jsonpatch.Operation")
        if lenient
        else ("[]handlers.jsonPatchOp", "handlers.jsonPatchOp")
    )
    if patch is None:
        return ""
    if not isinstance(patch, list):
        return f"json: cannot unmarshal {type_name(patch)} into Go value of type {whole}"
    for operation in cast("list[object]", patch):
        if operation is not None and not isinstance(operation, dict):
            return f"json: cannot unmarshal {type_name(operation)} into Go value of type {each}"
        if lenient:
            continue
        for key, value in cast("Plain", operation or {}).items():
            if key in _STRINGS and value is not None and not isinstance(value, str):
                found = type_name(value)
                return f"json: cannot unmarshal {found} into Go struct field jsonPatchOp.{key} of type string"
    return ""


# -- applying JSON patches ---------------------------------------------------------------------------------------


class _Inapplicable(Exception):  # noqa: N818 - it never leaves this module
    """An operation that cannot be done."""


class _Patched:
    """A document that operations are applied to, one after the other.

    Args:
        root: The document.
        spelling: How the operations' values are spelled.
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
        """Do one operation.

        Raises:
            _Inapplicable: It cannot be done.
            StatusFailure: All of them together take too much.
        """
        name = operation.get("op")
        action = self._actions.get(name) if isinstance(name, str) else None
        if action is None:
            raise _Inapplicable
        self._at = index
        action(operation)

    def _add(self, operation: _Operation) -> None:
        self._put(operation, operation.get("value"))

    def _remove(self, operation: _Operation) -> None:
        self._drop(*self._place(operation, "path"))

    def _replace(self, operation: _Operation) -> None:
        value = operation.get("value")
        if _text(operation, "path") == "":
            if not isinstance(value, dict | list):
                raise _Inapplicable
            self.root = cast("_Container", value)
            return
        container, key = self._place(operation, "path")
        if isinstance(container, dict):
            container[key] = value
        else:
            container[_index(key, len(container))] = value

    def _move(self, operation: _Operation) -> None:
        container, key = self._place(operation, "from")
        value = _get(container, key)
        self._drop(container, key)
        self._put(operation, value)

    def _copy(self, operation: _Operation) -> None:
        text = msgspec.json.encode(_get(*self._place(operation, "from")))
        # All copies together, as the real server counts them: a few that double can be more than any memory.
        self._copied += len(text)
        if self._copied > _MOST_COPIED:
            raise _Inapplicable
        self._put(operation, msgspec.json.decode(text))

    def _test(self, operation: _Operation) -> None:
        is_root = _text(operation, "path") == ""
        found = self.root if is_root else _get(*self._place(operation, "path"))
        if not self._equals(found, self._spelling.of(self._at)):
            raise _Inapplicable

    def _equals(self, value: object, raw: bytes) -> bool:
        """Tell whether something is what a patch spells out."""
        self._compared += len(raw)
        if self._compared > _MOST_COMPARED:
            raise too_large(f"the tests of a JSON patch compare at most {_MOST_COMPARED} bytes")
        if isinstance(value, dict):
            mine = cast("Plain", value)
            theirs = _decode_members(raw) if raw.startswith(b"{") else None
            return (
                theirs is not None
                and mine.keys() == theirs.keys()
                and all(self._equals(mine[key], bytes(each)) for key, each in theirs.items())
            )
        if isinstance(value, list):
            items = cast("list[object]", value)
            others = _decode_elements(raw) if raw.startswith(b"[") else []
            return (
                raw.startswith(b"[")
                and len(items) == len(others)
                and all(self._equals(item, bytes(other)) for item, other in zip(items, others, strict=True))
            )
        return _spelled(value).encode() == raw

    def _put(self, operation: _Operation, value: object) -> None:
        container, key = self._place(operation, "path")
        if isinstance(container, dict):
            container[key] = value
        elif key == "-":
            container.append(value)
        else:
            self._shift(container)
            container.insert(_index(key, len(container) + 1), value)

    def _drop(self, container: _Container, key: str) -> None:
        if isinstance(container, list):
            self._shift(container)
            del container[_index(key, len(container))]
        elif key in container:
            del container[key]
        else:
            raise _Inapplicable

    def _shift(self, array: list[object]) -> None:
        """Count what an element costs that comes or goes in the middle: all behind it move."""
        self._shifted += len(array)
        if self._shifted > _MOST_SHIFTED:
            raise too_large(f"the operations of a JSON patch move at most {_MOST_SHIFTED} elements")

    def _place(self, operation: _Operation, member: str) -> tuple[_Container, str]:
        """Follow a path to the object or array that holds what it names."""
        # No document is as deep as a path that has more steps than that.
        steps = _text(operation, member).split("/", _MOST_STEPS)
        if not 1 < len(steps) <= _MOST_STEPS:
            raise _Inapplicable
        container = self.root
        for step in steps[1:-1]:
            found = _get(container, _unescaped(step))
            if not isinstance(found, dict | list):
                raise _Inapplicable
            container = cast("_Container", found)
        return container, _unescaped(steps[-1])


def _text(operation: _Operation, member: str) -> str:
    found = operation.get(member)
    if not isinstance(found, str):
        raise _Inapplicable
    return found


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _index(key: str, length: int) -> int:
    """Read an index of an array so long; negative ones count from its end."""
    try:
        index = parse_int(key)
    except ValueError:
        raise _Inapplicable from None
    if not -length <= index < length:
        raise _Inapplicable
    return index % length


def _get(container: _Container, key: str) -> object:
    return container.get(key) if isinstance(container, dict) else container[_index(key, len(container))]


# -- applying merge patches --------------------------------------------------------------------------------------


def _merged(target: object, patch: object) -> object:
    if not isinstance(target, dict):
        return _pruned(patch)
    if not isinstance(patch, dict):
        return patch
    result = cast("Plain", target)
    for key, value in cast("Plain", patch).items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result


def _pruned(value: object) -> object:
    """Leave out the members of objects that are null, at any depth; lists keep theirs."""
    if isinstance(value, dict):
        return {key: _pruned(each) for key, each in cast("Plain", value).items() if each is not None}
    if isinstance(value, list):
        return [_pruned(each) for each in cast("list[object]", value)]
    return value
