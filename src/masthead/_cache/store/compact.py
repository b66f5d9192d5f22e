"""Stores objects compressed: a pod of 6 KB in 400 bytes.

Objects of one kind are similar, so that a shared dictionary compresses them well::

    the first objects        without a dictionary     a third of their size
    soon after 200 objects   with a dictionary        well below a tenth, for objects similar to these
    after a full list        `Compact.repack`         the same for all: a list is sorted by namespace, so that the first
                                                      200 objects do not represent the others

A stored value has the number of its dictionary, so that all values can be unpacked at any time. Its layout::

    resource version | 0 | zstd frame | number of the dictionary
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from masthead._cache.store.storage import Hold, ObjectStorage, Stored, bytes_of
from masthead._meta.object import Object
from masthead.errors import ConfigError, DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType

    from zstandard import ZstdCompressionDict, ZstdCompressor, ZstdDecompressor

__all__ = ["Compact"]

T = TypeVar("T", bound=Object)

# Measured with 8,000 pods of 7 KB from 60 templates, in the order of the templates: 2,100 bytes per pod without a
# dictionary, 1,260 with one trained on the first 200 pods, and 620 with one trained on 400 pods spread over all. For a
# single template, 200 pods suffice for 360 bytes. Training takes 0.1 s for 400 pods; for 1,000 it takes more than twice
# as long, without a gain.
_FIRST_SAMPLES: Final = 200
_SPREAD_SAMPLES: Final = 400
_MAX_SAMPLE_BYTES: Final = 10_000
"""Bytes of an object that the training uses: all of most objects, and at most 4 MB in total.

Measured with 450 objects of 300 KB: training takes 0.2 s with this limit, and 9 s without.
"""
_MAX_DICTIONARY_BYTES: Final = 112_640
"""The size of a dictionary. Twice the size takes longer to train than it saves."""
_SAMPLE_RATIO: Final = 20
"""Minimum ratio of samples to dictionary size; below it, the dictionary memorizes its samples."""
_LEVEL: Final = 3
_MAX_OPEN: Final = 512
"""Unpacked objects in memory: about 4 MB of pods."""
_MAX_OPEN_BYTES: Final = 8 << 20
"""Total size of the unpacked objects by their JSON text, for large objects."""

_SLICE_BYTES: Final = 1 << 20
"""Bytes compressed before other tasks run: about 150 pods."""
_TRAINING_WAIT: Final = 0.002
"""Seconds to wait for the training before other tasks run."""


class Compact(ObjectStorage[T]):
    """Stores compressed bytes. Unpacked objects stay in memory while they are in use.

    Args:
        cls: The class of the objects.

    Raises:
        ConfigError: If zstandard is not installed.
    """

    __slots__ = (
        "_cls",
        "_compressor",
        "_dictionaries",
        "_has_seen_all",
        "_lock",
        "_opened",
        "_samples",
        "_training",
        "_zstd",
    )

    name: Hold = "compact"

    def __init__(self, cls: type[T]) -> None:
        self._zstd = _zstandard()
        self._cls = cls
        self._lock = threading.Lock()  # a compressor serves one thread at a time
        self._compressor: ZstdCompressor = self._zstd.ZstdCompressor(level=_LEVEL)
        self._dictionaries = _Dictionaries()
        self._samples: list[bytes] | None = []
        self._training: threading.Thread | None = None
        self._has_seen_all = False
        self._opened = _Opened[T]()

    def pack(self, obj: T) -> Stored:
        """The compressed bytes of the object.

        Raises:
            DecodeError: If its resource version is invalid, or the program created it with a value of the wrong type.
            ArgumentError: If the program created it, and it cannot be encoded as JSON.
        """
        data, version = bytes_of(obj), obj.metadata.resource_version
        if "\0" in version:
            where = "metadata.resourceVersion"
            raise DecodeError("not a version", kind=self._cls.__name__, subject=obj.key, path=where)
        with self._lock:
            if self._samples is not None:
                self._sample(data)
            stored = self._compress(version.encode(), data)
        if obj.wire_bytes is not None:
            # Handlers will read it soon.
            self._opened.keep(stored, obj, len(data))
        return stored

    def unpack(self, stored: Stored) -> T:
        """The object; the same one until some hundreds of other objects were unpacked."""
        value = cast("bytes", stored)
        opened = self._opened.get(value)
        if opened is not None:
            return opened
        text = self._dictionaries.text(value)
        return self._opened.keep(value, self._cls.from_wire(text), len(text))

    def peek(self, stored: Stored) -> T | None:
        """Return the object, if it is unpacked in memory."""
        return self._opened.peek(cast("bytes", stored))

    def opened(self, items: Iterable[tuple[str, Stored]]) -> Iterator[tuple[str, T]]:
        """Iterate over the objects that are unpacked in memory."""
        del items
        return ((obj.key, obj) for obj in self._opened.objects())

    def on_closed(self, callback: Callable[[T], object]) -> None:
        """Call a function with each object that is evicted from memory."""
        self._opened.on_closed = callback

    def version(self, stored: Stored) -> str:
        """The resource version of the object, without unpacking it."""
        data = cast("bytes", stored)
        return data[: data.index(0)].decode()

    def is_same(self, one: Stored, other: Stored) -> bool:
        """Whether both are states of the same object. Equal bytes are not unpacked."""
        return one == other or super().is_same(one, other)

    def repack_in_steps(self, items: dict[str, Stored]) -> Iterator[None]:
        """Compress the objects again, in place, with a dictionary trained on a sample of all of them.

        The first call with many objects trains it. Takes about 15 µs per object with an older dictionary.
        """
        # One training at a time: the training on the first objects, if it ended last, would replace the better result.
        while not self.wait_trained(_TRAINING_WAIT):
            yield
        with self._lock:
            if not self._has_seen_all and len(items) >= _SPREAD_SAMPLES:
                self._has_seen_all = True
                self._start_training(self._spread(items))
        # Training runs in a thread; the event loop runs between two short waits for it.
        while not self.wait_trained(_TRAINING_WAIT):
            yield
        yield
        done = 0
        for key, value in items.items():
            stored = cast("bytes", value)
            if stored[-1] == self._dictionaries.newest:
                continue
            data = self._dictionaries.text(stored)
            # Replacing a value does not change the dict's size, so the iteration stays valid.
            with self._lock:
                items[key] = self._compress(stored[: stored.index(0)], data)
            done += len(data)
            # Counted in bytes: the same number of large objects would take far longer.
            if done >= _SLICE_BYTES:
                done = 0
                yield

    def _compress(self, version: bytes, data: bytes) -> bytes:
        return b"%b\0%b%c" % (version, self._compressor.compress(data), self._dictionaries.newest)

    def _sample(self, data: bytes) -> None:
        """Remember one of the first objects, and start the training once there are enough."""
        samples = cast("list[bytes]", self._samples)
        samples.append(data[:_MAX_SAMPLE_BYTES])
        if len(samples) == _FIRST_SAMPLES:
            self._samples = None
            self._start_training(samples)

    def _spread(self, items: dict[str, Stored]) -> list[bytes]:
        sample = islice(items.values(), 0, None, -(-len(items) // _SPREAD_SAMPLES))
        return [self._dictionaries.text(cast("bytes", stored))[:_MAX_SAMPLE_BYTES] for stored in sample]

    def wait_trained(self, timeout: float | None = None) -> bool:
        """Wait up to `timeout` seconds for a running training; return whether it has ended."""
        with self._lock:  # a thread is started under the lock, and cannot be joined before
            training = self._training
        if training is not None:
            training.join(timeout)
        return training is None or not training.is_alive()

    def _start_training(self, samples: list[bytes]) -> None:
        """Train a dictionary in a thread: zstd takes 0.1 s without the GIL, and must not block the event loop."""
        self._samples = None
        self._training = threading.Thread(target=self._train, args=(samples,), name="masthead-training", daemon=True)
        self._training.start()

    def _train(self, samples: list[bytes]) -> None:
        """Train a dictionary, and use it from now on; samples without similarities keep the current one."""
        size = min(_MAX_DICTIONARY_BYTES, sum(map(len, samples)) // _SAMPLE_RATIO)
        try:
            trained = self._zstd.train_dictionary(size, samples)
        except self._zstd.ZstdError:
            return
        trained.precompute_compress(level=_LEVEL)
        compressor = self._zstd.ZstdCompressor(level=_LEVEL, dict_data=trained, write_dict_id=False)
        with self._lock:
            self._compressor = compressor
            self._dictionaries.add(trained)


class _Opened(Generic[T]):
    """The unpacked objects in memory, the least recently used first.

    Threads: any. The lock is reentrant, because a signal handler may read a cache while its thread holds the lock.
    """

    __slots__ = ("_lock", "_objects", "_size", "on_closed")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.on_closed: Callable[[T], object] | None = None
        # By the stored value, whose hash is computed once.
        self._objects: OrderedDict[bytes, tuple[T, int]] = OrderedDict()
        self._size = 0

    def get(self, stored: bytes) -> T | None:
        with self._lock:
            entry = self._objects.get(stored)
            if entry is None:
                return None
            self._objects.move_to_end(stored)
            return entry[0]

    def peek(self, stored: bytes) -> T | None:
        """Return an object in memory, without marking it as used."""
        with self._lock:
            entry = self._objects.get(stored)
            return None if entry is None else entry[0]

    def objects(self) -> list[T]:
        """Return all objects in memory."""
        with self._lock:
            return [obj for obj, _ in self._objects.values()]

    def keep(self, stored: bytes, obj: T, size: int) -> T:
        """Add an object, and return it; or return the one that is in memory already."""
        with self._lock:
            if (entry := self._objects.get(stored)) is not None:
                # Another thread was faster; all readers get the same object.
                return entry[0]
            self._objects[stored] = (obj, size)
            self._size += size
            # The newest stays, even if it alone exceeds the limit.
            while len(self._objects) > 1 and (len(self._objects) > _MAX_OPEN or self._size > _MAX_OPEN_BYTES):
                _, (evicted, evicted_size) = self._objects.popitem(last=False)
                self._size -= evicted_size
                if self.on_closed is not None:
                    self.on_closed(evicted)
            return obj


class _Dictionaries:
    """All dictionaries so far, and their decompressors.

    Threads: one adds, any number read. A decompressor serves one thread at a time, so each thread creates its own.
    """

    __slots__ = ("_known", "_local", "_zstd")

    def __init__(self) -> None:
        self._zstd = _zstandard()
        self._known: list[ZstdCompressionDict | None] = [None]
        self._local = threading.local()

    @property
    def newest(self) -> int:
        """The number of the newest dictionary; 0 means none."""
        return len(self._known) - 1

    def add(self, dictionary: ZstdCompressionDict) -> None:
        """Add the newest dictionary."""
        self._known.append(dictionary)

    def text(self, stored: bytes) -> bytes:
        """Decompress a stored value."""
        number = stored[-1]
        try:
            decompressor = self._local.decompressors[number]
        except (AttributeError, IndexError):
            # This thread has no decompressors yet, or none for a newer dictionary.
            decompressor = self._create_decompressors()[number]
        return cast("bytes", decompressor.decompress(memoryview(stored)[stored.index(0) + 1 : -1]))

    def _create_decompressors(self) -> list[ZstdDecompressor]:
        decompressors = [self._zstd.ZstdDecompressor(dict_data=dictionary) for dictionary in tuple(self._known)]
        self._local.decompressors = decompressors
        return decompressors


def _zstandard() -> ModuleType:
    try:
        import zstandard
    except ImportError:
        raise ConfigError("hold=\"compact\" needs zstandard: pip install 'masthead-k8s[compact]'") from None
    return zstandard
