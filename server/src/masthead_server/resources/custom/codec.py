"""The codec of custom resources: bodies decoded by a schema, and objects converted between versions.

An object is stored in the storage version at the time of the write. A read prunes and defaults it by the present schema
of that version, converts it to the requested version, and prunes it by the schema of the latter. Nearly always that
changes nothing, which the beginning of the text tells: see `SchemaCodec.dump`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol, cast

import msgspec

from masthead_server.resources.codec import QUICK_ITEMS
from masthead_server.resources.custom.object_metadata import coerce_embedded, decode_metadata
from masthead_server.wire.body_limits import too_large
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.go_json import wrong_name
from masthead_server.wire.patches import spelled
from masthead_server.wire.plain import Plain, part, with_floats, with_integers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead_server.resources.custom.definition import Definition, DefinitionVersion

__all__ = ["Converter", "NopConverter", "SchemaCodec", "StoredCodec", "set_defaults"]

_encode_json: Final = msgspec.json.Encoder(order="sorted").encode
_encode_any: Final = msgspec.json.Encoder(enc_hook=float).encode
"""Encodes numbers that know how they were written, too."""
_decode: Final = msgspec.json.Decoder().decode
_NULL: Final = b":null"
_LONG_NUMBER: Final = re.compile(rb"[0-9]{19}")
_HEAD: Final = frozenset({"apiVersion", "kind", "metadata"})


def _encode(found: Plain) -> bytes:
    data = _encode_json(found)
    # Go writes 2.0 as 2, so that it is an integer when it is read again.
    return _encode_json(with_integers(found)) if b".0" in data else data


def _copy(found: Plain) -> tuple[Plain, bool]:
    """Return a copy of decoded JSON, with integers of more than 64 bits as floats.

    Returns:
        The copy, and whether it may have nulls.
    """
    data = _encode_any(found)
    copy = cast("Plain", _decode(data))
    if _LONG_NUMBER.search(data):
        copy = cast("Plain", with_floats(copy))
    return copy, b"null" in data


def _with_version(value: bytes, version: str) -> bytes:
    """Return the text of a stored object with another resourceVersion; it counts as one to be normalized."""
    found = cast("Plain", _decode(b"{" + value))
    found["metadata"]["resourceVersion"] = version
    return _encode(found)[1:]


class Converter(Protocol):
    """Converts objects between the versions of one definition."""

    def convert(self, found: Plain, source: DefinitionVersion, target: DefinitionVersion) -> Plain:
        """Return an object in another version; kind and apiVersion are left to the caller.

        Raises:
            StatusFailure: If it cannot be converted.
        """
        ...

    def require(self, objects: list[Plain], source: DefinitionVersion, target: DefinitionVersion) -> None:
        """Make sure that objects can be converted without waiting.

        Raises:
            ConversionPending: If a webhook has to convert some of them first.
        """
        ...


class NopConverter:
    """Converts nothing but the apiVersion: the strategy ``None`` of definitions."""

    def convert(self, found: Plain, source: DefinitionVersion, target: DefinitionVersion) -> Plain:
        """Return the object itself."""
        del source, target
        return found

    def require(self, objects: list[Plain], source: DefinitionVersion, target: DefinitionVersion) -> None:
        """Nothing has to be waited for."""


def set_defaults(found: Plain, version: DefinitionVersion) -> None:
    """Set the defaults of a version in an object, in place.

    Raises:
        StatusFailure: If they are too large.
    """
    if not version.has_defaults:
        return
    from masthead._schema.defaulting import DefaultsTooLarge, apply_defaults

    try:
        apply_defaults(found, version.schema)
    except DefaultsTooLarge as problem:
        raise too_large(str(problem)) from None


def _prune(
    found: Plain, version: DefinitionVersion, *, drops_invalid: bool = False, has_nulls: bool = True
) -> list[str]:
    """Drop what the schema of a version does not have, in place; returns the paths that were dropped.

    Args:
        found: The object.
        version: The version.
        drops_invalid: Whether invalid metadata of embedded objects is dropped.
        has_nulls: Whether the object may have nulls.

    Raises:
        Mismatch: If the metadata of an embedded object is invalid, unless that is dropped.
    """
    from masthead._schema.prune import drop_nulls, prune

    unknown: list[str] = []
    if not version.definition.preserves_unknown:
        unknown = prune(found, version.schema)
        if has_nulls:
            drop_nulls(found, version.schema)
    if version.has_embedded:
        unknown += coerce_embedded(found, version.schema, drops_invalid=drops_invalid)
    return unknown


class StoredCodec:
    """Reads and writes stored objects as they are, in whatever version they were stored.

    It is for what concerns metadata alone, such as garbage collection, and never converts. So the objects that it
    returns have their kind and apiVersion.

    Args:
        version: The version in which new objects are stored.
    """

    null_lists = ()

    def __init__(self, version: DefinitionVersion) -> None:
        self.gvk = version.gvk

    def decode(self, body: Plain) -> tuple[Plain, list[str]]:
        """Return a body unchanged."""
        return body, []

    def load(self, value: bytes) -> Plain:
        """Decode a stored object."""
        return cast("Plain", _decode(b"{" + value))

    def dump(self, found: Plain) -> bytes:
        """Encode an object for the storage; what comes of it is never taken for the result of `SchemaCodec.dump`."""
        return _encode(found)[1:]

    def write(self, value: bytes) -> bytes:
        """Encode a stored object unchanged."""
        return b"{" + value

    def items(self, values: Sequence[bytes]) -> list[bytes]:
        """Encode stored objects as they are."""
        return [b"{" + value for value in values]

    def is_slow(self, values: Sequence[bytes]) -> bool:
        """Writing objects as they are is fast."""
        del values
        return False

    def require(self, values: Iterable[bytes]) -> None:
        """Nothing has to be waited for."""

    def with_version(self, value: bytes, version: str) -> bytes:
        """Return a stored object with another resourceVersion."""
        return _with_version(value, version)

    def encode(self, found: Plain) -> bytes:
        """Encode an object that is not stored."""
        return _encode(found)

    def kind_problem(self, patched: Plain) -> str:
        """Nothing patches objects as they are stored."""
        del patched
        return ""

    def blank(self, metadata: Plain) -> Plain:
        """Return an object that has nothing but some metadata."""
        return {"kind": self.gvk.kind, "apiVersion": self.gvk.api_version, "metadata": metadata}

    def blank_status(self) -> None:
        """Objects have no status until it is written."""


class SchemaCodec:
    """Encodes and decodes the objects of a custom resource in one version.

    Args:
        version: The version.
        converter: Converts between the versions of the definition.
        since: The revision of the definition. Objects that were written later went through this schema.
    """

    null_lists = ()

    def __init__(self, version: DefinitionVersion, converter: Converter, since: int) -> None:
        self.gvk = version.gvk
        self._version = version
        self._definition: Definition = version.definition
        self._converter = converter
        self._since = since
        self._identity = {"kind": self.gvk.kind, "apiVersion": self.gvk.api_version}
        self._head = f'"apiVersion":"{self.gvk.api_version}","kind":"{self.gvk.kind}",'.encode()
        self._normal = self._head + b'"metadata":{"resourceVersion":"'

    def decode(self, body: Plain) -> tuple[Plain, list[str]]:
        """Return the object without unknown fields, kind and version, and the paths of unknown fields.

        An object of another kind or version is not pruned, and keeps these: validation refuses it.

        Raises:
            Mismatch: If metadata is invalid, at the root or in an embedded object.
        """
        meta, extra = decode_metadata(body.get("metadata"))
        found, has_nulls = _copy({key: value for key, value in body.items() if key not in _HEAD})
        if "metadata" in body:
            found["metadata"] = meta
        unknown = [f"metadata.{item}" for item in extra]
        # An empty kind or version counts as the right one; the path names both.
        others = {name: body[name] for name, own in self._identity.items() if body.get(name) not in {"", None, own}}
        if others:
            found.update(others)
        else:
            unknown += _prune(found, self._version, has_nulls=has_nulls)
        return found, unknown

    def load(self, value: bytes) -> Plain:
        """Decode a stored object in this version, without kind and apiVersion.

        Raises:
            StatusFailure: If it cannot be converted.
        """
        found, source = self._normalize(value)
        if source is not self._version:
            found = self._converter.convert(found, source, self._version)
            _prune(found, self._version)
        return found

    def _normalize(self, value: bytes) -> tuple[Plain, DefinitionVersion]:
        """Return a stored object as the schema of its version now calls for it, and that version."""
        found = cast("Plain", _decode(b"{" + value))
        source = self._stored_version(found)
        if not self._is_normal(value):
            _prune(found, source, drops_invalid=True)
            found["metadata"] = {"generation": 1, **part(found, "metadata")}
            set_defaults(found, source)
        return found, source

    def convert(self, found: Plain, source: str, target: str) -> Plain:
        """Convert an object without kind and apiVersion between versions of the definition, without pruning.

        Raises:
            StatusFailure: If the definition does not have a version, or if the object cannot be converted.
            ConversionPending: If a webhook has to convert it first.
        """
        return self._converter.convert(found, self._find_version(source, "from"), self._find_version(target, "to"))

    def _stored_version(self, found: Plain) -> DefinitionVersion:
        """Take kind and apiVersion from an object; returns the version that it is in."""
        del found["kind"]
        return self._find_version(found.pop("apiVersion"), "from")

    def _find_version(self, api_version: str, direction: str) -> DefinitionVersion:
        """Return a version of the definition by its apiVersion."""
        group, _, name = api_version.rpartition("/")
        version = self._definition.versions.get(name)
        if version is None or group != self.gvk.group:
            problem = f"request to convert CR {direction} an invalid group/version: {api_version}"
            raise StatusFailure(500, "", problem)
        return version

    def dump(self, found: Plain) -> bytes:
        """Encode an object for the storage.

        The text of an object that needs no conversion and loses no field on a read begins with its kind and
        resourceVersion. A read returns it unchanged, as long as that version is above the definition's.

        Raises:
            StatusFailure: If it cannot be converted.
        """
        target = self._definition.storage_version
        if target is not self._version:
            found = self._converter.convert(found, self._version, target)
            _prune(found, target)
            gvk = target.gvk
            return _encode({**found, "kind": gvk.kind, "apiVersion": gvk.api_version})[1:]
        meta = {**found["metadata"]}
        revision = meta.pop("resourceVersion", "")
        # Without a revision nothing can tell whether the object went through the present schema.
        if not revision:  # a dry run
            return _encode({**found, **self._identity})[1:]
        rest = {key: value for key, value in found.items() if key not in _HEAD}
        fields = _encode(rest)
        if _NULL in fields and self._drops_nulls(fields):
            return _encode({**found, **self._identity})[1:]
        head = b"%b%b" % (self._normal, revision.encode())
        metadata = b'",%b' % _encode(meta)[1:] if meta else b'"}'
        return b"%b%b%b" % (head, metadata, b",%b" % fields[1:] if rest else b"}")

    def _drops_nulls(self, fields: bytes) -> bool:
        """Tell whether an object has nulls that are dropped when it is read; validation allows some."""
        found = cast("Plain", _decode(fields))
        _prune(found, self._version, drops_invalid=True)
        return _encode(found) != fields

    def _is_normal(self, value: bytes) -> bool:
        """Tell whether a stored object is in this version, and went through the present schema."""
        if not value.startswith(self._normal):
            return False
        begin = len(self._normal)
        revision = value[begin : value.index(b'"', begin)]
        return bool(revision) and int(revision) > self._since

    def write(self, value: bytes) -> bytes:
        """Encode a stored object in this version.

        Raises:
            StatusFailure: If it cannot be converted.
        """
        if self._is_normal(value):
            return b"{" + value
        return self.encode(self.load(value))

    def items(self, values: Sequence[bytes]) -> list[bytes]:
        """Encode stored objects in this version as the items of a list, which have their kind.

        Raises:
            StatusFailure: If one cannot be converted.
        """
        self.require(values)
        return [self.write(value) for value in values]

    def is_slow(self, values: Sequence[bytes]) -> bool:
        """Tell whether writing stored objects takes long: if many went through another schema, or are converted.

        What a webhook converts is written in the event loop all the same, where the conversions are found.
        """
        # Few objects are written faster than a thread starts.
        if len(values) <= QUICK_ITEMS or self._definition.has_webhook:
            return False
        return sum(not self._is_normal(value) for value in values) > QUICK_ITEMS

    def require(self, values: Iterable[bytes]) -> None:
        """Make sure that stored objects can be written in this version without waiting.

        Raises:
            ConversionPending: If a webhook has to convert some of them first.
            StatusFailure: If the version of one does not exist any more.
        """
        if not self._definition.has_webhook:
            return
        by_version: dict[str, list[Plain]] = {}
        for value in values:
            found, source = self._normalize(value)
            if source is not self._version:
                by_version.setdefault(source.name, []).append(found)
        for name, objects in by_version.items():
            self._converter.require(objects, self._definition.versions[name], self._version)

    def with_version(self, value: bytes, version: str) -> bytes:
        """Return a stored object with another resourceVersion."""
        return _with_version(value, version)

    def encode(self, found: Plain) -> bytes:
        """Encode an object of this version that is not stored."""
        return b"{%b%b" % (self._head, _encode(found)[1:])

    def kind_problem(self, patched: Plain) -> str:
        """Return the message about a patch that spoilt kind or apiVersion; others of them are found by validation.

        Raises:
            StatusFailure: If it took the apiVersion away, which kube-apiserver does not expect either.
        """
        if problem := wrong_name(patched):
            return problem
        if not patched.get("kind"):
            return f"Object 'Kind' is missing in '{spelled(patched)}'"
        if patched.get("apiVersion", "") is None:
            return ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
        version: str = patched.get("apiVersion") or ""
        if version.count("/") > 1:
            return f"unexpected GroupVersion string: {version}"
        if not version:
            problem = "Object 'apiVersion' is missing in 'object has no apiVersion field'"
            raise StatusFailure(
                500,
                "InternalError",
                f"Internal error occurred: {problem}",
                details={"causes": [{"message": problem}]},
            )
        return ""

    def blank(self, metadata: Plain) -> Plain:
        """Return an object that has nothing but some metadata."""
        return {"metadata": metadata}

    def blank_status(self) -> None:
        """Objects have no status until it is written."""
