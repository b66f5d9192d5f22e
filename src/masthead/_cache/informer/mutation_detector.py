"""Detects mutations of the objects that a cache shares.

All readers of a cache share its objects: all of them see a mutation, and the cache no longer agrees with the server.
Every stored object has its bytes, so that the comparison with them is exact. Objects are compared

- when they are replaced or deleted,
- after a handler was called with them,
- about every second, all of them; less often while nothing happens,
- at the end, and in `SharedInformer.check_mutations`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import threading
from itertools import islice
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar, cast

import msgspec

from masthead._meta.field_decoder import split_fields
from masthead._meta.object import Object
from masthead._meta.unstructured import Unstructured
from masthead._sansio.slices import in_slices
from masthead.errors import ArgumentError, ConfigError, DecodeError, MutationError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from msgspec import Raw

    from masthead._cache.store.storage import ObjectStorage, Stored

__all__ = [
    "VARIABLE",
    "MutationDetector",
    "changed_paths",
    "changed_sections",
    "collect_mutations",
    "detector_for",
    "is_on",
    "log_mutations",
]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")

VARIABLE: Final = "MASTHEAD_MUTATION_DETECTOR"
"""The environment variable that turns the detector on, or off where it is on by default."""

_VALUES: Final = {"1": True, "true": True, "0": False, "false": False}
_MAX_NAMED: Final = 5
"""Objects named in a message, and paths per object."""
_MAX_FOUND: Final = 1_000
"""Mutated objects that are remembered."""
_FIRST_PERIOD: Final = 1.0
_MAX_PERIOD: Final = 60.0
"""Seconds between two scans; doubled while nothing happens, so that hours of virtual time stay cheap."""
_SLICE: Final = 100
"""Objects compared before other tasks run."""
_KIND: Final = frozenset({"apiVersion", "kind"})
_SECTION: Final = re.compile(r"[.\[]")


def is_on(
    enabled: bool | None = None, environment: Mapping[str, str] = os.environ, *, default: bool | None = None
) -> bool:
    """Decide whether to detect mutations.

    Args:
        enabled: The option of an informer; None to ask the environment.
        environment: The environment variables.
        default: The result if the variable is not set; None for on within `collect_mutations` only.

    Raises:
        ConfigError: If the environment variable is neither yes nor no.
    """
    if enabled is not None:
        return enabled
    value = environment.get(VARIABLE, "").strip().lower()
    if not value:
        return bool(_collections) if default is None else default
    try:
        return _VALUES[value]
    except KeyError:
        raise ConfigError(f'{VARIABLE} is "{environment[VARIABLE]}"; set it to 1 or 0, or unset it') from None


def log_mutations(error: MutationError, *, informer: str = "") -> None:
    """Log mutations while another error propagates to the caller."""
    _log.error("%s%s", f"informer {informer}: " if informer else "", error)


class _Mutation(NamedTuple):
    """A mutated object.

    Attributes:
        obj: The object. The reference keeps its `id` from being reused.
        text: The key, the changed paths, and the moment of the detection.
    """

    key: str
    obj: Object
    text: str


class MutationDetector(Generic[T]):
    """Compares the objects of one informer with the bytes that they were decoded from.

    Threads: any.

    Args:
        storage: Unpacks objects.
        name: The informer's name in logs.
    """

    def __init__(self, storage: ObjectStorage[T], name: str) -> None:
        self._storage = storage
        self._name = name
        self._lock = threading.Lock()
        self._found: dict[int, _Mutation] = {}
        self._has_news = False
        self._objects: Callable[[], Iterable[tuple[str, T]]] = tuple
        self.is_reported = False
        """Whether `check` has reported all mutations."""

    def follow_closed(self) -> None:
        """Compare also the objects that the storage evicts from memory."""
        self._storage.on_closed(lambda obj: self._compare(obj.key, obj))

    def attach(self, items: Callable[[], Iterable[tuple[str, Stored]]]) -> None:
        """Scan these stored objects from now on."""
        self._objects = lambda: self._storage.opened(items())

    def compare(self, key: str, stored: Stored, when: str = "") -> None:
        """Compare an object, if it was unpacked for a reader.

        Args:
            key: The object's key.
            stored: The stored object.
            when: The occasion, such as ``after handler audit``.
        """
        self._has_news = True
        obj = self._storage.peek(stored)
        if obj is not None:
            self._compare(key, obj, when)

    def _compare(self, key: str, obj: T, when: str = "", *, is_logged: bool = True) -> None:
        # Without the lock: most objects are unmodified, and a second check follows under the lock.
        if id(obj) in self._found or not obj.is_modified():
            return
        text = _describe(key, obj, when)
        with self._lock:
            if len(self._found) >= _MAX_FOUND or id(obj) in self._found:
                return
            self._found[id(obj)] = _Mutation(key, obj, text)
            self.is_reported = False
        if is_logged:
            _log.error("informer %s: %s was changed, which the cache shares; copy() it first", self._name, text)

    def scan(self, *, is_logged: bool = True) -> Iterator[None]:
        """Compare all objects, in slices."""
        for part in in_slices(self._objects(), _SLICE):
            for key, obj in part:
                self._compare(key, obj, is_logged=is_logged)
            yield

    async def scan_periodically(self) -> None:
        """Compare all objects periodically, until cancelled."""
        period = _FIRST_PERIOD
        while True:
            await asyncio.sleep(period)
            period = _FIRST_PERIOD if self._has_news else min(2 * period, _MAX_PERIOD)
            self._has_news = False
            for _ in self.scan():
                await asyncio.sleep(0)

    def check(self) -> None:
        """Compare all objects, and report every mutation so far.

        Raises:
            MutationError: If there are some; its ``keys`` has all objects.
        """
        # Not logged: the error below names them.
        for _ in self.scan(is_logged=False):
            pass
        with self._lock:
            found = list(self._found.values())
            self.is_reported = True
        if not found:
            return
        named = ", ".join(mutation.text for mutation in found[:_MAX_NAMED])
        more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
        raise MutationError(
            f"objects of a cache were changed: {named}{more}. Everybody shares them; change a copy instead: obj.copy()",
            keys=tuple(dict.fromkeys(mutation.key for mutation in found)),
        )


_collections: Final[list[list[MutationDetector[Object]]]] = []


def detector_for(storage: ObjectStorage[T], name: str, enabled: bool | None) -> MutationDetector[T] | None:
    """Create the detector of an informer; None if it is off.

    Raises:
        ConfigError: If the environment variable is neither yes nor no.
    """
    if not is_on(enabled):
        return None
    detector = MutationDetector(storage, name)
    detector.follow_closed()
    # An explicit option is the caller's own choice, and reported by the informer alone.
    if enabled is None and _collections:
        _collections[-1].append(cast("MutationDetector[Object]", detector))
    return detector


@contextlib.contextmanager
def collect_mutations() -> Generator[None]:
    """Enable detection for informers created in this block, unless an option or the environment turns it off.

    Raises:
        MutationError: At the end, if there are mutations that no informer has reported.
    """
    detectors: list[MutationDetector[Object]] = []
    _collections.append(detectors)
    try:
        yield
    finally:
        _collections.remove(detectors)
    for detector in detectors:
        if not detector.is_reported:
            detector.check()


def changed_sections(obj: Object) -> tuple[str, ...]:
    """Return the wire names of the sections that differ from an object's bytes: ``metadata``, ``spec`` and so on.

    Empty for an object without bytes.
    """
    source = obj.wire_bytes
    if source is None:
        return ()
    before = split_fields(source)
    try:
        after = split_fields(obj.to_json())
    except DecodeError as error:  # a value of the wrong type was assigned
        return (_SECTION.split(error.path)[0],)
    except ArgumentError:
        return ()
    implied = _KIND - before.keys()  # an item gets its kind from its list
    names = sorted((before.keys() | after.keys()) - implied)
    # Unchanged sections are written byte for byte, so that a comparison of bytes suffices.
    return tuple(name for name in names if _bytes(before, name) != _bytes(after, name))


def _bytes(parts: Mapping[str, Raw], name: str) -> bytes:
    return bytes(parts.get(name, b""))


def changed_paths(obj: Object) -> tuple[str, ...]:
    """Return the paths that differ from an object's bytes, such as ``spec.containers[0].image``; at most five."""
    source = obj.wire_bytes
    if source is None:
        return ()
    sections = changed_sections(obj)
    before = type(obj).from_wire(source)
    paths: list[str] = []
    for section in sections:
        old, new = _section(before, section), _section(obj, section)
        paths += list(islice(_differences(section, old, new), _MAX_NAMED)) or [section]
    return tuple(paths[:_MAX_NAMED])


_ABSENT: Final = object()


def _section(obj: Object, name: str) -> object:
    if isinstance(obj, Unstructured):
        return obj[name] if name in obj else _ABSENT  # noqa: SIM401 - its get takes a path
    names = dict(zip(obj.__struct_encode_fields__, obj.__struct_fields__, strict=True))
    return getattr(obj, names[name], _ABSENT) if name in names else _ABSENT


def _differences(path: str, old: object, new: object) -> Iterator[str]:
    """Yield the paths below which two values differ."""
    # Different types have no common fields to descend into.
    if type(old) is not type(new):
        yield path
    elif isinstance(old, msgspec.Struct):
        for name, wire_name in zip(old.__struct_fields__, old.__struct_encode_fields__, strict=True):
            yield from _differences(f"{path}.{wire_name}", getattr(old, name), getattr(new, name))
    elif isinstance(old, dict):
        before, after = cast("dict[str, object]", old), cast("dict[str, object]", new)
        for key in before | after:
            yield from _differences(f"{path}.{key}", before.get(key, _ABSENT), after.get(key, _ABSENT))
    elif isinstance(old, list):
        yield from _list_differences(path, cast("list[object]", old), cast("list[object]", new))
    elif old != new:
        yield path


def _list_differences(path: str, old: list[object], new: list[object]) -> Iterator[str]:
    if len(old) != len(new):
        yield path
        return
    for index, (before, after) in enumerate(zip(old, new, strict=True)):
        yield from _differences(f"{path}[{index}]", before, after)


def _describe(key: str, obj: Object, when: str) -> str:
    try:
        paths = changed_paths(obj)
    except (DecodeError, ArgumentError):  # too broken for a comparison in detail
        paths = changed_sections(obj)
    details = "; ".join(filter(None, (", ".join(paths), when and f"noticed {when}")))
    return f"{key} ({details})" if details else key
