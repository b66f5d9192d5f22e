"""The selector of a virtual loop: it polls sockets, and advances the clock instead of waiting."""

from __future__ import annotations

import selectors
import threading
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from masthead.testing._memory_network import FIRST_DESCRIPTOR, MemoryNetwork

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from _typeshed import FileDescriptorLike

__all__ = ["VirtualSelector"]

_DELIVERY_SECONDS: Final = 0.0003
"""Real seconds to wait for data on its way through a loopback socket. The kernel nearly always delivers immediately; if
not, virtual time passes first, as in any network. Sockets in memory need no such wait."""
_SUSPENDED_THREAD_SECONDS: Final = 0.5
"""Real seconds to wait for a thread of a suspended process, before time passes without it."""
_DEADLOCK_SECONDS: Final = 5.0
"""Real seconds without a timer or a ready socket after which the loop counts as deadlocked."""
_MAX_UNPOLLED_TURNS: Final = 20
"""Turns of a busy loop between two polls of the kernel's sockets."""


class VirtualSelector(selectors.BaseSelector):
    """Advances the virtual clock instead of waiting.

    Args:
        start: The initial time.

    Attributes:
        now: The virtual time.
        network: The sockets in memory.
        holds: Running executor threads by process; time does not pass while any runs.
        dead: Killed processes, whose threads do not count.
        has_suspended: Whether a process is suspended.
        idlers: Futures to resolve when all tasks wait, with the remaining turns of the loop.
        counters: Futures to resolve after a number of turns, with the remaining turns.
    """

    def __init__(self, start: float) -> None:
        self.now = start
        self.network = MemoryNetwork()
        self.holds: Counter[object] = Counter()
        self.dead: set[object] = set()
        self.has_suspended = False
        self.idlers: dict[asyncio.Future[bool], int] = {}
        self.counters: dict[asyncio.Future[bool], int] = {}
        self._keys: dict[int, selectors.SelectorKey] = {}
        self._map = _KeyMap(self._keys)
        self._kernel = _new_kernel_selector()
        self._connections: set[int] = set()
        """Sockets of the kernel, except listeners. One belongs to the loop itself: threads wake it there."""
        self._unpolled_turns = 0

    @property
    def is_held(self) -> bool:
        """Whether a thread works."""
        return bool(self.holds) and self.holds.total() > 0

    def hold(self, owner: object, count: int) -> None:
        """Count a thread of a process; with a negative number, its end."""
        # Threads of a killed process end later, after the removal of its count.
        if owner not in self.dead:
            self.holds[owner] += count

    def register(self, fileobj: FileDescriptorLike, events: int, data: object = None) -> selectors.SelectorKey:
        """Register a socket.

        Raises:
            KeyError: If it is registered already.
        """
        fd = _descriptor_of(fileobj)
        if fd in self._keys:
            raise KeyError(f"{fileobj!r} is already registered")
        if fd < FIRST_DESCRIPTOR:
            self._kernel.register(fd, events)
            if fd not in self.network:
                self._connections.add(fd)
        key = self._keys[fd] = selectors.SelectorKey(fileobj, fd, events, data)
        # A socket may have become ready before its registration.
        self.network.touch(fd)
        return key

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        """Unregister a socket.

        Raises:
            KeyError: If it is not registered.
        """
        key = self._keys.pop(_descriptor_of(fileobj))
        # After a fork, keys of the kernel's sockets remain, although nothing polls them.
        if key.fd < FIRST_DESCRIPTOR and key.fd in self._kernel.get_map():
            self._kernel.unregister(key.fd)
            self._connections.discard(key.fd)
        return key

    def modify(self, fileobj: FileDescriptorLike, events: int, data: object = None) -> selectors.SelectorKey:
        """Change the events of a socket.

        Raises:
            KeyError: If it is not registered.
        """
        known = self._keys[_descriptor_of(fileobj)]
        if known.fd < FIRST_DESCRIPTOR and known.events != events and known.fd in self._kernel.get_map():
            self._kernel.modify(known.fd, events)
        key = self._keys[known.fd] = selectors.SelectorKey(fileobj, known.fd, events, data)
        self.network.touch(known.fd)
        return key

    def get_key(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        """Return the key of a socket.

        Raises:
            KeyError: If it is not registered.
        """
        return self._keys[_descriptor_of(fileobj)]

    def get_map(self) -> Mapping[FileDescriptorLike, selectors.SelectorKey]:
        """Return all keys by descriptor."""
        return self._map

    def leave_kernel(self) -> None:
        """Poll no socket of the kernel any more: in a forked process, they belong to its parent."""
        self._kernel = _new_kernel_selector()
        self._connections.clear()

    def close(self) -> None:
        """Close the selector."""
        self._kernel.close()
        self._keys.clear()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return the ready sockets; if there are none, let time pass."""
        ready = self._poll(is_busy=timeout == 0)
        # A list, because both must count.
        is_counted = any([_count_turn(self.idlers), _count_turn(self.counters)])
        if ready or timeout == 0 or is_counted:
            return ready
        # Before time passes: idle means that only timers remain.
        if self.idlers and not self.is_held:
            ready = self._await_delivery()
            if not ready:
                self._resolve_idlers()
            return ready
        if self.is_held:
            # A thread of a suspended process may wait for its loop, which resumes only when time passes.
            has_limit = self.has_suspended and timeout is not None
            ready = self._poll_kernel(_SUSPENDED_THREAD_SECONDS if has_limit else None)
            self.now += 0.0 if ready else timeout or 0.0
            return ready
        if timeout is not None:
            ready = self._await_delivery()
            self.now += 0.0 if ready else timeout
            return ready
        # With its own socket only, nothing can ever wake the loop.
        is_alone = len(self._kernel.get_map()) == 1 and threading.active_count() == 1
        # Poll again: a thread may have woken the loop and ended since the first poll.
        ready = self._poll_kernel(0 if is_alone else _DEADLOCK_SECONDS)
        if not ready:
            raise RuntimeError("deadlock: all tasks wait, and no timer is set")
        return ready

    def _poll(self, *, is_busy: bool) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._poll_memory()
        self._unpolled_turns += 1
        # A system call in each turn would be most of the cost of short turns. A busy loop sees calls of threads anyway.
        if (is_busy or ready) and len(self._connections) <= 1 and self._unpolled_turns < _MAX_UNPOLLED_TURNS:
            return ready
        return ready + self._poll_kernel(0)

    def _poll_memory(self) -> list[tuple[selectors.SelectorKey, int]]:
        network = self.network
        ready: list[tuple[selectors.SelectorKey, int]] = []
        for fd in list(network.changed):
            key = self._keys.get(fd)
            events = 0 if key is None else network.events_of(fd) & key.events
            if key is not None and events:
                # A ready socket remains listed, because select reports it until its data is read.
                ready.append((key, events))
            else:
                del network.changed[fd]
        return ready

    def _poll_kernel(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        self._unpolled_turns = 0
        return [(self._keys[key.fd], events) for key, events in self._kernel.select(timeout)]

    def _await_delivery(self) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for data on its way through sockets of the kernel, if there are any but listeners."""
        return self._poll_kernel(_DELIVERY_SECONDS) if len(self._connections) > 1 else []

    def _resolve_idlers(self) -> None:
        idlers = list(self.idlers)
        self.idlers.clear()
        for idler in idlers:
            _resolve(idler, is_idle=True)


class _KeyMap(Mapping["FileDescriptorLike", selectors.SelectorKey]):
    """Keys by socket or descriptor.

    Args:
        keys: The keys by descriptor.
    """

    def __init__(self, keys: dict[int, selectors.SelectorKey]) -> None:
        self._keys = keys

    def __getitem__(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        return self._keys[_descriptor_of(fileobj)]

    def __iter__(self) -> Iterator[FileDescriptorLike]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def _new_kernel_selector() -> selectors.BaseSelector:
    # Without a kernel object, which a forked process would share.
    kind: type[selectors.BaseSelector] = getattr(selectors, "PollSelector", selectors.SelectSelector)
    return kind()


def _descriptor_of(fileobj: FileDescriptorLike) -> int:
    return fileobj if isinstance(fileobj, int) else fileobj.fileno()


def _count_turn(waiting: dict[asyncio.Future[bool], int]) -> bool:
    """Count a turn of the loop, and resolve futures without remaining turns; return whether any was resolved."""
    has_resolved = False
    for future, turns in list(waiting.items()) if waiting else ():
        waiting[future] = turns - 1
        if turns <= 0:
            del waiting[future]
            _resolve(future, is_idle=False)
            has_resolved = True
    return has_resolved


def _resolve(idler: asyncio.Future[bool], *, is_idle: bool) -> None:
    if not idler.done():
        idler.set_result(is_idle)
