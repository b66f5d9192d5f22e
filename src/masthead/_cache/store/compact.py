"""ObjectStorage objects compressed: a pod of 6 KB in 400 bytes.

Objects of one kind are much alike, and what they have in common goes into a dictionary::

    the first objects        each by itself           a third of their size
    soon after 200 of them   with a dictionary        well below a tenth, as long as the others are like these
    once all are there       `Compact.repack`         the same for all: a list comes namespace by namespace, so that
                                                      the first 200 say little about the rest

A stored value says which dictionary it was made with, so that all can be opened at any time. Its layout::

    resource version | 0 | frame of zstd | number of the dictionary
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

# Measured with 8,000 pods of 7 KB from 60 templates, which come template by template: 2,100 bytes each without a
# dictionary, 1,260 with one from the first 200, and 620 with one from 400 that are spread over all. If there is but one
# template, 200 are enough for 360 bytes. Training takes 0.1 s for 400 and more than twice that for 1,000, for nothing.
_FIRST: Final = 200
_SPREAD: Final = 400
_LONGEST: Final = 10_000
"""How much of an object a dictionary learns from: all of most, and at most 4 MB in all.

Measured with 450 objects of 300 KB: training takes 0.2 s, and with all of them 9.
"""
_LARGEST: Final = 112_640
"""The size of a dictionary; what is twice as large takes longer to train than it saves."""
_SAMPLED: Final = 20
"""How many times its size a dictionary must have seen, or it learns its samples by heart."""
_LEVEL: Final = 3
_OPENED: Final = 512
"""How many objects are kept open: about 4 MB of pods."""
_OPENED_BYTES: Final = 8 << 20
"""How large they may be together, by their text: few, where each is large."""

_AT_ONCE: Final = 1 << 20
"""How many bytes of text are compressed anew before others get their turn: some 150 pods."""
_TRAINING_TURN_S: Final = 0.002
"""How long to wait for a training that is under way before others get their turn."""


class Compact(ObjectStorage[T]):
    """Holds compressed bytes; an object is decoded when it is opened, and kept open as long as it is in demand.

    Args:
        cls: What is stored.

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
        self._lock = threading.Lock()  # a compressor is for one thread at a time
        self._compressor: ZstdCompressor = self._zstd.ZstdCompressor(level=_LEVEL)
        self._dictionaries = _Dictionaries()
        self._samples: list[bytes] | None = []
        self._training: threading.Thread | None = None
        self._has_seen_all = False
        self._opened = _Opened[T]()

    def pack(self, obj: T) -> Stored:
        """The compressed bytes of the object.

        Raises:
            DecodeError: If its resource version is invalid, or it was made here and something in it does not fit.
            ArgumentError: If it was made here and cannot be written as JSON.
        """
        data, version = bytes_of(obj), obj.metadata.resource_version
        if "\0" in version:
            where = "metadata.resourceVersion"
            raise DecodeError("not a version", kind=self._cls.__name__, subject=obj.key, path=where)
        with self._lock:
            if self._samples is not None:
                self._sample(data)
            stored = self._compressed(version.encode(), data)
        if obj.wire_bytes is not None:
            # Handlers will read it soon.
            self._opened.keep(stored, obj, len(data))
        return stored

    def unpack(self, stored: Stored) -> T:
        """The object; the same one as long as it is kept open, which is until some hundreds of others were opened."""
        value = cast("bytes", stored)
        found = self._opened.get(value)
        if found is not None:
            return found
        text = self._dictionaries.text(value)
        return self._opened.keep(value, self._cls.from_wire(text), len(text))

    def peek(self, stored: Stored) -> T | None:
        """Return the object, if it is kept open."""
        return self._opened.peek(cast("bytes", stored))

    def opened(self, items: Iterable[tuple[str, Stored]]) -> Iterator[tuple[str, T]]:
        """Iterate over the objects that are kept open."""
        del items
        return ((obj.key, obj) for obj in self._opened.objects())

    def on_closed(self, callback: Callable[[T], object]) -> None:
        """Call a function with each object that is not kept open any more: others were in demand."""
        self._opened.on_closed = callback

    def version(self, stored: Stored) -> str:
        """The resource version of the object, without opening it."""
        data = cast("bytes", stored)
        return data[: data.index(0)].decode()

    def is_same(self, one: Stored, other: Stored) -> bool:
        """Whether both are states of one object; not opened, if they are one state."""
        return one == other or super().is_same(one, other)

    def repack_in_steps(self, items: dict[str, Stored]) -> Iterator[None]:
        """Hold objects anew, in place, with a dictionary that suits all of them; the first call that has many makes it.

        Takes about 15 µs for each object that is not stored so yet.
        """
        # One training at a time: that on the first objects, if it ended last, would replace the better dictionary.
        while not self.wait_trained(_TRAINING_TURN_S):
            yield
        with self._lock:
            if not self._has_seen_all and len(items) >= _SPREAD:
                self._has_seen_all = True
                self._start_training(self._spread(items))
        # Training runs in a thread; the event loop goes on between two short waits for it.
        while not self.wait_trained(_TRAINING_TURN_S):
            yield
        yield
        done = 0
        for key, each in items.items():
            stored = cast("bytes", each)
            if stored[-1] == self._dictionaries.newest:
                continue
            data = self._dictionaries.text(stored)
            # To replace a value does not change the dict's size, so it may be iterated meanwhile.
            with self._lock:
                items[key] = self._compressed(stored[: stored.index(0)], data)
            done += len(data)
            # Counted in bytes: as many large objects would take far longer than small ones.
            if done >= _AT_ONCE:
                done = 0
                yield

    def _compressed(self, version: bytes, data: bytes) -> bytes:
        return b"%b\0%b%c" % (version, self._compressor.compress(data), self._dictionaries.newest)

    def _sample(self, data: bytes) -> None:
        """Remember one of the first objects, and learn from them once they are enough."""
        samples = cast("list[bytes]", self._samples)
        samples.append(data[:_LONGEST])
        if len(samples) == _FIRST:
            self._samples = None
            self._start_training(samples)

    def _spread(self, items: dict[str, Stored]) -> list[bytes]:
        some = islice(items.values(), 0, None, -(-len(items) // _SPREAD))
        return [self._dictionaries.text(cast("bytes", stored))[:_LONGEST] for stored in some]

    def wait_trained(self, timeout: float | None = None) -> bool:
        """Wait for a training that is under way, for so many seconds at the most; returns whether it has ended."""
        with self._lock:  # under which it is started: a thread that is not cannot be waited for
            training = self._training
        if training is not None:
            training.join(timeout)
        return training is None or not training.is_alive()

    def _start_training(self, samples: list[bytes]) -> None:
        """Train a dictionary in a thread: that takes 0.1 s, without Python's lock, for which no event loop shall wait."""
        self._samples = None
        self._training = threading.Thread(target=self._train, args=(samples,), name="masthead-training", daemon=True)
        self._training.start()

    def _train(self, samples: list[bytes]) -> None:
        """Use a dictionary from now on; if these have nothing in common that one could be made of, the one there is."""
        size = min(_LARGEST, sum(map(len, samples)) // _SAMPLED)
        try:
            learnt = self._zstd.train_dictionary(size, samples)
        except self._zstd.ZstdError:
            return
        learnt.precompute_compress(level=_LEVEL)
        compressor = self._zstd.ZstdCompressor(level=_LEVEL, dict_data=learnt, write_dict_id=False)
        with self._lock:
            self._compressor = compressor
            self._dictionaries.add(learnt)


class _Opened(Generic[T]):
    """The objects that were stored or opened last, as many as there is room for.

    Threads: any. The lock is one that a signal's handler may take again, should it come in just then and read a cache.
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
            found = self._objects.get(stored)
            if found is None:
                return None
            self._objects.move_to_end(stored)
            return found[0]

    def peek(self, stored: bytes) -> T | None:
        """Return an object that is open; it does not count as in demand for that."""
        with self._lock:
            found = self._objects.get(stored)
            return None if found is None else found[0]

    def objects(self) -> list[T]:
        """Return all objects that are open."""
        with self._lock:
            return [obj for obj, _ in self._objects.values()]

    def keep(self, stored: bytes, obj: T, size: int) -> T:
        """Keep an object open; returns the one that is, if there is one already."""
        with self._lock:
            if (kept := self._objects.get(stored)) is not None:
                # Another thread has opened it meanwhile; all readers get the same object.
                return kept[0]
            self._objects[stored] = (obj, size)
            self._size += size
            # The newest stays, even if it alone is above the limit.
            while len(self._objects) > 1 and (len(self._objects) > _OPENED or self._size > _OPENED_BYTES):
                _, (closed, gone) = self._objects.popitem(last=False)
                self._size -= gone
                if self.on_closed is not None:
                    self.on_closed(closed)
            return obj


class _Dictionaries:
    """Every dictionary so far, and what decompresses with them.

    Threads: one adds, any number read. A decompressor is for one thread at a time, so each thread makes its own.
    """

    __slots__ = ("_known", "_mine", "_zstd")

    def __init__(self) -> None:
        self._zstd = _zstandard()
        self._known: list[ZstdCompressionDict | None] = [None]
        self._mine = threading.local()

    @property
    def newest(self) -> int:
        """The number of the newest one; 0 means none."""
        return len(self._known) - 1

    def add(self, learnt: ZstdCompressionDict) -> None:
        """From now on, this one is the newest."""
        self._known.append(learnt)

    def text(self, stored: bytes) -> bytes:
        """What was compressed."""
        number = stored[-1]
        try:
            mine = self._mine.decompressors[number]
        except (AttributeError, IndexError):
            # This thread has no decompressors yet, or none for a newer dictionary.
            mine = self._made()[number]
        return cast("bytes", mine.decompress(memoryview(stored)[stored.index(0) + 1 : -1]))

    def _made(self) -> list[ZstdDecompressor]:
        made = [self._zstd.ZstdDecompressor(dict_data=each) for each in tuple(self._known)]
        self._mine.decompressors = made
        return made


def _zstandard() -> ModuleType:
    try:
        import zstandard
    except ImportError:
        raise ConfigError("storage objects \"compact\" needs zstandard: pip install 'masthead-k8s[compact]'") from None
    return zstandard
