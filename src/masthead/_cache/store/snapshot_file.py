"""Snapshot files: the store of an informer, so that the next start need not list everything.

The lines are JSON: a header, the unmodified objects, and their number with a checksum of all lines before::

    {"format":"masthead-snapshot","formatVersion":1,"resource":"v1/pods","scopes":{"":"5123"},"labelSelector":"app=web",...}
    {"metadata":{"name":"web-0",...},"spec":{...},"status":{...}}
    ...
    {"objects":20000,"crc32":2774821563}

A file whose name ends in ``.zst`` is compressed. Objects are written and read one by one, so that memory never holds a
second copy of the store. The functions block.
"""

from __future__ import annotations

import io
import os
import tempfile
import zlib
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeVar

import msgspec

from masthead._cache.store.storage import bytes_of
from masthead._meta import typeinfo
from masthead._meta.object import Object
from masthead.errors import ConfigError, DecodeError, SnapshotError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from types import ModuleType

__all__ = ["SnapshotHeader", "read", "write"]

T = TypeVar("T", bound=Object)

_FORMAT: Final = "masthead-snapshot"
_VERSION: Final = 1
_COMPRESSED: Final = ".zst"
_MAX_HEADER_BYTES: Final = 1 << 20
"""The limit for the first line: a file that is no snapshot may be one line of any length."""
_BUFFER: Final = 1 << 18
_ADVICE: Final = "delete it: a start without one is slower, and nothing else"
_MALFORMED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class SnapshotHeader(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The cache that a snapshot belongs to.

    Attributes:
        resource: The resource, as ``group/version/plural``.
        scopes: The resource version of each watch, by namespace; by "" for a single watch.
        label_selector: The label selector.
        field_selector: The field selector.
        shard_selector: The shard selector.
        transform: The transform, as described by `masthead._cache.store.transforms.describe`.
    """

    resource: str
    scopes: dict[str, str]
    label_selector: str = ""
    field_selector: str = ""
    shard_selector: str = ""
    transform: str = ""


class _Format(msgspec.Struct):
    """The part of the header that all format versions share."""

    format: str
    version: int = msgspec.field(name="formatVersion")


class _End(msgspec.Struct, forbid_unknown_fields=True):
    """The last line, which proves that the file is complete."""

    objects: int
    crc32: int


def write(path: str | os.PathLike[str], header: SnapshotHeader, objects: Iterable[Object]) -> int:
    """Write a snapshot that only its owner can read. The rename at the end replaces an old file atomically.

    Args:
        path: The path, in an existing folder.
        header: The header.
        objects: The unmodified objects.

    Returns:
        The number of objects.

    Raises:
        SnapshotError: If the file cannot be written; an old file is unchanged then.
        ConfigError: If it is to be compressed, and zstandard is not installed.
        ArgumentError: If the program created an object that cannot be encoded as JSON.
    """
    target = Path(path)
    try:
        with _replacing(target) as file, _compressing(target, file) as lines:
            return _write_lines(lines, header, objects)
    except OSError as error:
        raise SnapshotError(
            f"the snapshot {target} cannot be written ({error.strerror}); give it a folder that is there, may be "
            "written to and has space"
        ) from error


@contextmanager
def read(
    path: str | os.PathLike[str], expected: SnapshotHeader, cls: type[T]
) -> Generator[tuple[SnapshotHeader, Iterator[T]]]:
    """Open a snapshot, check its header, and read its objects.

    ``with read(path, expected, Pod) as (header, pods):``. The checksum follows the last object: do not use any of them
    before all have been read.

    Args:
        path: The path.
        expected: The expected header; its versions are ignored.
        cls: The class of the objects.

    Raises:
        SnapshotError: If the file is missing, belongs to another cache, or is corrupt; also while objects are read.
        ConfigError: If it is compressed, and zstandard is not installed.
    """
    source = Path(path)
    with ExitStack() as stack:
        try:
            file = stack.enter_context(source.open("rb", buffering=_BUFFER))
        except FileNotFoundError as error:
            raise SnapshotError(f"there is no snapshot {source} yet; go on without") from error
        except OSError as error:
            raise _broken(source, f"cannot be read ({error.strerror})") from error
        lines = _Lines(source, stack.enter_context(_decompressing(source, file)))
        # With a limit: a file that is no snapshot may be a single line of any length.
        first = lines.next(_MAX_HEADER_BYTES)
        header = _parse_header(source, first, expected)
        yield header, _read_objects(source, lines, cls, zlib.crc32(first))


@contextmanager
def _replacing(target: Path) -> Generator[IO[bytes]]:
    """A temporary file that is renamed over the target at the end."""
    # In the same folder, so that the rename does not cross file systems. mkstemp gives access to the owner only.
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb", buffering=_BUFFER) as file:
            yield file
            file.flush()
            # Before the rename: after a crash, the name must not point to an empty file.
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def _compressing(target: Path, file: IO[bytes]) -> Generator[IO[bytes]]:
    if target.suffix != _COMPRESSED:
        yield file
        return
    with _zstandard(target).ZstdCompressor().stream_writer(file, closefd=False) as stream:
        yield stream


@contextmanager
def _decompressing(source: Path, file: IO[bytes]) -> Generator[IO[bytes]]:
    if source.suffix != _COMPRESSED:
        yield file
        return
    with io.BufferedReader(_zstandard(source).ZstdDecompressor().stream_reader(file), _BUFFER) as stream:
        yield stream


class _Lines:
    """Reads the lines of a file; raises its errors as `SnapshotError`."""

    __slots__ = ("_file", "_source")

    def __init__(self, source: Path, file: IO[bytes]) -> None:
        self._source = source
        self._file = file

    def next(self, limit: int = -1) -> bytes:
        """The next line with its line feed; empty at the end of the file."""
        try:
            return self._file.readline(limit)
        except OSError as error:
            raise _broken(self._source, f"cannot be read ({error.strerror})") from error
        except _zstd_errors(self._source):
            raise _broken(self._source, "is not compressed as it should be") from None


def _zstd_errors(source: Path) -> tuple[type[Exception], ...]:
    return (_zstandard(source).ZstdError,) if source.suffix == _COMPRESSED else ()


def _write_lines(lines: IO[bytes], header: SnapshotHeader, objects: Iterable[Object]) -> int:
    fields = {"format": _FORMAT, "formatVersion": _VERSION, **msgspec.to_builtins(header)}
    line = _line(msgspec.json.encode(fields))
    lines.write(line)
    count, checksum = 0, zlib.crc32(line)
    for obj in objects:
        line = _line(bytes_of(obj))
        lines.write(line)
        checksum = zlib.crc32(line, checksum)
        count += 1
    lines.write(_line(msgspec.json.encode(_End(count, checksum))))
    return count


def _line(text: bytes) -> bytes:
    # JSON strings escape line feeds, so that these are only white space between tokens.
    return text.replace(b"\n", b" ") + b"\n"


def _parse_header(source: Path, line: bytes, expected: SnapshotHeader) -> SnapshotHeader:
    try:
        # The format first: the header of another version need not decode as this one.
        written = typeinfo.decode_json(line, _Format)
        if written.format != _FORMAT:
            raise _broken(source, "is no snapshot")
        if written.version != _VERSION:
            raise _broken(source, f"is of format {written.version}, and this program reads {_VERSION}")
        header = typeinfo.decode_json(line, SnapshotHeader)
    except _MALFORMED:
        raise _broken(source, "is no snapshot, or its first line is broken") from None
    identity, expected_identity = _identify(header), _identify(expected)
    for name, value in identity.items():
        if value != expected_identity[name]:
            raise _broken(source, f"is of another cache: {name} is {value!r} there, not {expected_identity[name]!r}")
    return header


def _identify(header: SnapshotHeader) -> dict[str, object]:
    """The fields that are equal in all snapshots of a cache."""
    return {**msgspec.structs.asdict(header), "scopes": sorted(header.scopes)}


def _read_objects(source: Path, lines: _Lines, cls: type[T], checksum: int) -> Iterator[T]:
    count = 0
    line = lines.next()
    # One line ahead: the last line is not an object, and only the end of the file shows which line that is.
    while following := lines.next():
        count += 1
        checksum = zlib.crc32(line, checksum)
        yield _read_object(source, line, count, cls)
        line = following
    try:
        end = typeinfo.decode_json(line, _End)
    except _MALFORMED:
        raise _broken(source, "is cut short") from None
    # Before the checksum, which differs as well, but does not explain the problem.
    if end.objects != count:
        raise _broken(source, f"lacks something: {end.objects} objects were written, and {count} are there")
    if end.crc32 != checksum:
        raise _broken(source, "was changed since it was written")


def _read_object(source: Path, line: bytes, number: int, cls: type[T]) -> T:
    try:
        obj = cls.from_wire(line[:-1])
    except DecodeError as error:
        raise _broken(source, f"has a broken object in line {number + 1}: {error}") from None
    if not obj.metadata.name:
        raise _broken(source, f"has an object without a name in line {number + 1}")
    return obj


def _broken(path: Path, problem: str) -> SnapshotError:
    return SnapshotError(f"the snapshot {path} {problem}; {_ADVICE}")


def _zstandard(path: Path) -> ModuleType:
    try:
        import zstandard
    except ImportError:
        raise ConfigError(
            f"the snapshot {path} is compressed, which needs zstandard: pip install 'masthead-k8s[compact]', or give "
            f"it a name without {_COMPRESSED}"
        ) from None
    return zstandard
