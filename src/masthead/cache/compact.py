"""Holding objects compressed: a pod of 6 KB in 400 bytes.

Objects of one kind are much alike, and what they have in common goes into a dictionary::

    the first objects        each by itself           a third of their size
    after 200 of them        with a dictionary        well below a tenth, as long as the others are like these
    once all are there       `Compact.rehold`         the same for all: a list comes namespace by namespace, so that
                                                      the first 200 say little about the rest

A held value says which dictionary it was made with, so that all can be opened at any time. Its layout::

    resource version | 0 | frame of zstd | number of the dictionary
"""

from __future__ import annotations

import threading
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar, cast

from masthead.cache.holding import Held, Hold, Holding, bytes_of
from masthead.errors import ConfigError, DecodeError
from masthead.meta.object import Object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from zstandard import ZstdCompressionDict, ZstdCompressor, ZstdDecompressor

__all__ = ["Compact"]

T = TypeVar("T", bound=Object)

# Measured with 8,000 pods of 7 KB from 60 templates, which come template by template: 2,100 bytes each without a
# dictionary, 1,260 with one from the first 200, and 620 with one from 400 that are spread over all. If there is but one
# template, 200 are enough for 360 bytes. Training takes 0.1 s for 400 and more than twice that for 1,000, for nothing.
_FIRST: Final = 200
_SPREAD: Final = 400
_LARGEST: Final = 112_640
"""The size of a dictionary; what is twice as large takes longer to train than it saves."""
_SAMPLED: Final = 20
"""How many times its size a dictionary must have seen, or it learns its samples by heart."""
_LEVEL: Final = 3
_OPENED: Final = 256
"""How many objects are kept open: about 2 MB of pods."""


_AT_ONCE: Final = 500
"""How many objects are held anew before others get their turn."""


class Compact(Holding[T]):
    """Holds compressed bytes; an object is decoded when it is opened, and kept open as long as it is in demand.

    Args:
        cls: What is held.

    Raises:
        ConfigError: if zstandard is not installed.
    """

    __slots__ = (
        "_cls",
        "_compressor",
        "_dictionaries",
        "_fresh",
        "_has_seen_all",
        "_lock",
        "_open",
        "_samples",
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
        self._has_seen_all = False
        self._fresh: dict[bytes, T] = {}
        # The cache is keyed by the value itself, whose hash is computed once.
        self._open: Callable[[bytes], T] = lru_cache(_OPENED)(self._decoded)

    def hold(self, obj: T) -> Held:
        """The compressed bytes of the object.

        Raises:
            DecodeError: if its resource version is none, or it was made here and something in it does not fit.
            InvalidValueError: if it was made here and cannot be written as JSON.
        """
        data, version = bytes_of(obj), obj.metadata.resource_version
        if "\0" in version:
            where = "metadata.resourceVersion"
            raise DecodeError("not a version", kind=self._cls.__name__, subject=obj.key, path=where)
        with self._lock:
            if self._samples is not None:
                self._sample(data)
            held = self._compressed(version.encode(), data)
            self._remember(held, obj)
        return held

    def open(self, held: Held) -> T:
        """The object; the same one as long as it is kept open, which is until some hundreds of others were opened."""
        return self._open(cast("bytes", held))

    def version(self, held: Held) -> str:
        """The resource version of the object, without opening it."""
        data = cast("bytes", held)
        return data[: data.index(0)].decode()

    def is_same(self, one: Held, other: Held) -> bool:
        """Whether both are states of one object; not opened, if they are one state."""
        return one == other or super().is_same(one, other)

    def rehold_in_steps(self, items: dict[str, Held]) -> Iterator[None]:
        """Hold objects anew, in place, with a dictionary that suits all of them; the first call that has many makes it.

        Takes about 15 µs for each object that is not held so yet.
        """
        with self._lock:
            if not self._has_seen_all and len(items) >= _SPREAD:
                self._has_seen_all = True
                self._train(self._spread(items))
        for count, (key, held) in enumerate(items.items(), 1):
            items[key] = self._reheld(cast("bytes", held))
            if count % _AT_ONCE == 0:
                yield

    def _reheld(self, held: bytes) -> bytes:
        if held[-1] == self._dictionaries.newest:
            return held
        data = self._dictionaries.text(held)
        with self._lock:
            return self._compressed(held[: held.index(0)], data)

    def _compressed(self, version: bytes, data: bytes) -> bytes:
        return b"%b\0%b%c" % (version, self._compressor.compress(data), self._dictionaries.newest)

    def _remember(self, held: bytes, obj: T) -> None:
        """Keep an object open for a while: whoever is told of it will look at it soon."""
        if obj.wire_bytes is not None:
            self._fresh[held] = obj
            if len(self._fresh) > _OPENED:
                del self._fresh[next(iter(self._fresh))]

    def _decoded(self, held: bytes) -> T:
        fresh = self._fresh.get(held)
        return fresh if fresh is not None else self._cls.from_wire(self._dictionaries.text(held))

    def _sample(self, data: bytes) -> None:
        """Remember one of the first objects, and learn from them once they are enough."""
        samples = cast("list[bytes]", self._samples)
        samples.append(data)
        if len(samples) == _FIRST:
            self._samples = None
            self._train(samples)

    def _spread(self, items: dict[str, Held]) -> list[bytes]:
        step = max(1, len(items) // _SPREAD)
        return [
            self._dictionaries.text(cast("bytes", held)) for held in islice(items.values(), 0, None, step)
        ]

    def _train(self, samples: list[bytes]) -> None:
        """Use a dictionary from now on; if these have nothing in common that one could be made of, the one there is."""
        size = min(_LARGEST, sum(map(len, samples)) // _SAMPLED)
        try:
            learnt = self._zstd.train_dictionary(size, samples)
        except self._zstd.ZstdError:
            return
        self._samples = None
        learnt.precompute_compress(level=_LEVEL)
        self._compressor = self._zstd.ZstdCompressor(level=_LEVEL, dict_data=learnt, write_dict_id=False)
        self._dictionaries.add(learnt)


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

    def text(self, held: bytes) -> bytes:
        """What was compressed."""
        number = held[-1]
        try:
            mine = self._mine.decompressors[number]
        except (AttributeError, IndexError):
            mine = self._made()[number]
        return cast("bytes", mine.decompress(memoryview(held)[held.index(0) + 1 : -1]))

    def _made(self) -> list[ZstdDecompressor]:
        made = [self._zstd.ZstdDecompressor(dict_data=each) for each in tuple(self._known)]
        self._mine.decompressors = made
        return made


def _zstandard() -> ModuleType:
    try:
        import zstandard
    except ImportError:
        raise ConfigError(
            "holding objects \"compact\" needs zstandard: pip install 'masthead[compact]'"
        ) from None
    return zstandard
