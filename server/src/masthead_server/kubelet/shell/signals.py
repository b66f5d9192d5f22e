"""Signals and processes of a container: what receives signals, by process id."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from masthead_server.kubelet.shell.control import ShellExit

__all__ = ["EXIT", "SIGNALS", "ProcessTable", "ShellProcess", "SignalTarget", "signal_name"]

EXIT: Final = "EXIT"
"""What ``trap`` calls the end of a shell."""
SIGNALS: Final = {
    "HUP": 1,
    "INT": 2,
    "QUIT": 3,
    "ILL": 4,
    "TRAP": 5,
    "ABRT": 6,
    "BUS": 7,
    "FPE": 8,
    "KILL": 9,
    "USR1": 10,
    "SEGV": 11,
    "USR2": 12,
    "PIPE": 13,
    "ALRM": 14,
    "TERM": 15,
    "CHLD": 17,
    "CONT": 18,
    "STOP": 19,
    "TSTP": 20,
    "TTIN": 21,
    "TTOU": 22,
    "URG": 23,
    "WINCH": 28,
}
"""The numbers of Linux."""
_WITHOUT_EFFECT: Final = frozenset({"CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "WINCH"})
"""Signals that do not end a process. Nothing is stopped here."""
_FOR_GROUPS: Final = frozenset({"INT", "TERM"})
"""Signals that end the foreground commands of a shell whose trap is to run."""
_UNCATCHABLE: Final = frozenset({"KILL", "STOP"})
_INIT: Final = 1
_SIGNALLED: Final = 128


def signal_name(text: str) -> str:
    """Return the name of a signal by its name or number; ``EXIT`` for 0, and empty for no signal."""
    name = text.upper().removeprefix("SIG")
    if name in SIGNALS or name == EXIT:
        return name
    return EXIT if name == "0" else next((known for known, number in SIGNALS.items() if str(number) == name), "")


class SignalTarget(Protocol):
    """A process that others may send signals to."""

    def signal(self, name: str, /) -> None:
        """Send a signal from within the container."""
        ...


class ProcessTable:
    """The processes of a container by their ids."""

    def __init__(self) -> None:
        self._running: dict[int, SignalTarget] = {}
        self._last = _INIT

    def set_init(self, process: SignalTarget) -> None:
        """Set the main process, which has the id 1."""
        self._running[_INIT] = process

    def allocate(self) -> int:
        """Return a new id."""
        self._last += 1
        return self._last

    def add(self, number: int, process: SignalTarget) -> None:
        """Add a process, unless its id is in use."""
        self._running.setdefault(number, process)

    def remove(self, number: int) -> None:
        """Remove a process that has ended."""
        self._running.pop(number, None)

    def find(self, number: int) -> SignalTarget | None:
        """Return a process; None for an unknown id. A container that just runs has a main process without traps."""
        return self._running.get(number) or (_NO_PROCESS if number == _INIT else None)

    def others(self, number: int) -> list[SignalTarget]:
        """Return all processes but the main one and that with an id."""
        return [process for known, process in self._running.items() if known not in {_INIT, number}]


class _NoProcess:
    """The main process of a container that just runs."""

    def signal(self, name: str, /) -> None:
        """Ignore the signal, as a main process without a trap does."""


_NO_PROCESS: Final = _NoProcess()


class ShellProcess:
    """A process of the shell: its traps, and the signals that wait for them.

    Args:
        table: The processes of the container.
        is_init: Whether it is the main process, which ignores signals without a trap.
        has_task: Whether a signal may cancel the task that runs it. Otherwise, signals only end its waits.

    Attributes:
        is_wrapper: Whether it only waits for a shell, which a real one would be itself.
        traps: The command for each signal, and for ``EXIT``; empty to ignore the signal.
        sleepers: Events that a signal sets.
        shell_id: The process id of the outermost shell, ``$$``.
        is_in_trap: Whether a trap runs, which no other interrupts.
        foreground: The processes that it waits for.
        code: The exit code of a process that a signal has ended.
    """

    def __init__(self, table: ProcessTable, *, is_init: bool = False, has_task: bool = True) -> None:
        self.table = table
        self.number: int = _INIT if is_init else table.allocate()
        self.shell_id: int = self.number
        self.traps: dict[str, str] = {}
        self.sleepers: set[asyncio.Event] = set()
        self.is_in_trap = False
        self.is_wrapper = False
        self.code: int | None = None
        self._is_init = is_init
        self._has_task = has_task
        self._parent: ShellProcess | None = None
        self._task: asyncio.Task[object] | None = None
        self.foreground: set[ShellProcess] = set()
        self._pending: list[str] = []

    def fork(self, *, is_background: bool = False) -> ShellProcess:
        """Return a process that this one starts: it ignores the same signals, and has no other traps."""
        child = ShellProcess(self.table, has_task=self._has_task)
        child.shell_id = self.shell_id
        child.traps = {name: text for name, text in self.traps.items() if not text and name != EXIT}
        # As POSIX wants it of commands in the background.
        if is_background:
            child.traps |= {"INT": "", "QUIT": ""}
        return child

    def start_program(self) -> ShellProcess:
        """Return the process of a program that this one starts; a shell's ``$$`` is its own id."""
        child = self.fork()
        child.shell_id = child.number
        return child

    def replace_program(self) -> None:
        """Forget the traps, as when another program replaces the shell; ignored signals stay ignored."""
        self.traps = {name: text for name, text in self.traps.items() if not text and name != EXIT}

    def enter(self, parent: ShellProcess | None = None) -> None:
        """Add it to the table, as a process that its parent waits for."""
        self._parent = parent
        if self._has_task:
            self._task = asyncio.current_task()
        # The main process adds itself, since it may be no shell.
        if not self._is_init:
            self.table.add(self.number, self)
        if parent is not None:
            parent.foreground.add(self)

    def accept_cancellation(self) -> bool:
        """Let the task continue that a signal has cancelled; return False if something else has cancelled it, too."""
        task = asyncio.current_task()
        if task is None:
            return True
        if task is self._task:
            task.uncancel()
        return not task.cancelling()

    def leave(self, parent: ShellProcess | None = None) -> None:
        """Remove it from the table."""
        if not self._is_init:
            self.table.remove(self.number)
        if parent is not None:
            parent.foreground.discard(self)

    def check(self) -> None:
        """Stop if a signal has ended this process, or one that waits for it.

        Raises:
            ShellExit: If there is such a signal.
        """
        process: ShellProcess | None = self
        while process is not None:
            if process.code is not None:
                raise ShellExit(process.code)
            process = process._parent  # noqa: SLF001 - a process of the same kind

    @property
    def is_pending(self) -> bool:
        """Whether a trap has to run next."""
        return bool(self._pending)

    def signal(self, name: str, /) -> None:
        """Send a signal from within the container."""
        if self.is_wrapper and self.foreground:
            for child in tuple(self.foreground):
                child.signal(name)
            return
        # The kernel protects a main process without a trap from its own container.
        if self.deliver(name) or self._is_init or name in _WITHOUT_EFFECT:
            return
        # The first one counts.
        if self.code is not None:
            return
        self.code = _SIGNALLED + SIGNALS[name]
        self._wake()
        # A process that ends itself raises instead, after the command that sent the signal.
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    def deliver(self, name: str) -> bool:
        """Send a signal; return False if there is no trap for it."""
        if name not in self.traps or name in _UNCATCHABLE:
            return False
        if self.traps[name] and name not in self._pending:
            self._pending.append(name)
            for child in tuple(self.foreground) if name in _FOR_GROUPS else ():
                child.signal(name)
            self._wake()
        return True

    def _wake(self) -> None:
        for sleeper in self.sleepers:
            sleeper.set()

    def take(self) -> str:
        """Return the next signal whose trap is to run; empty for none."""
        return self._pending.pop(0) if self._pending and not self.is_in_trap else ""

    @property
    def pending_code(self) -> int:
        """The exit code of a command that the next pending signal has interrupted."""
        return _SIGNALLED + SIGNALS[self._pending[0]] if self._pending else 0
