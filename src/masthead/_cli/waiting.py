"""Waiting for objects: the conditions of ``--for``, progress, and timeouts."""

from __future__ import annotations

import math
import re
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._cli.client_warnings import telling_warnings
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.progress import Work
from masthead._cli.templates import JsonPathError, parse_path_argument, value_text
from masthead._cli.terminal import say_beside
from masthead._client.conditions import ObjectWaitCondition, WaitCondition, condition_is, deleted, exists
from masthead._client.readiness import ready
from masthead.errors import DeadlineError, MastheadError, ObjectFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    import masthead
    from masthead._client.documents import ManifestSource
    from masthead._meta.object import Object
    from masthead._meta.unstructured import Unstructured

__all__ = [
    "WaitOutput",
    "label_of",
    "parse_condition",
    "parse_conditions",
    "seconds_to_wait",
    "wait_for",
    "wait_for_each",
]

_MAX_NOTICES: Final = 5
_EQUALS: Final = re.compile(r"(?<![=!<>])=(?!=)")
"""The equals sign between a path and its value: no part of ``==``, ``!=``, ``<=`` and ``>=``, which filters have."""


@dataclass(frozen=True, slots=True)
class WaitOutput:
    """What a wait prints.

    Attributes:
        done: The text of the line of an object that meets the condition.
        gone: The text of the lines for deleted objects; empty for no such lines.
        notice_after: Seconds until the error output says what is waited for; None for never.
    """

    done: str = "condition met"
    gone: str = ""
    notice_after: float | None = None


def parse_conditions(texts: Sequence[str]) -> list[WaitCondition[Object]]:
    """Parse all values of ``--for``, in the order in which they are waited for.

    As for kubectl, they have to hold one after the other, and ``create`` comes first. If ``delete`` comes later, a
    deleted object meets the conditions before it.

    Raises:
        CommandError: If one of them is not a condition.
    """
    # The sort is stable: the other conditions keep the order of the user.
    ordered = sorted(texts, key=lambda text: text.casefold() != "create")
    last_delete = max((at for at, text in enumerate(ordered) if text.casefold() == "delete"), default=-1)
    parsed = [parse_condition(text) for text in ordered]
    return [
        condition | deleted() if at < last_delete and ordered[at].casefold() not in {"create", "delete"} else condition
        for at, condition in enumerate(parsed)
    ]


def parse_condition(text: str) -> WaitCondition[Object]:
    """Read the value of ``--for``.

    Raises:
        CommandError: If it is not a condition.
    """
    form, _, rest = text.partition("=")
    match form.casefold():
        case "ready" if not rest:
            return ready()
        case "delete" if not rest:
            return deleted()
        case "create" if not rest:
            return exists()
        case "condition" if rest:
            # As in kubectl: `condition=Ready` means that its status is True.
            type_, _, status = rest.partition("=")
            return condition_is(type_, status or "True")
        case "jsonpath" if rest:
            return _jsonpath_is(rest)
        case _:
            pass
    raise CommandError(
        f"--for has no form {text!r}",
        hint="write ready, delete, create, condition=NAME[=STATUS] or jsonpath={PATH}[=VALUE]",
        code=ExitCode.USAGE,
    )


def _split_jsonpath(text: str) -> tuple[str, str | None]:
    """The path, with or without braces, and its value; None for any."""
    # The brace separates path and value, whatever equals signs a filter contains.
    if "}=" in text:
        path, _, wanted = text.rpartition("}=")
        return f"{path}}}", wanted
    path, *values = _EQUALS.split(text, maxsplit=1)
    return path, values[0] if values else None


def _jsonpath_is(text: str) -> ObjectWaitCondition[Object]:
    """A path has a value, or any value if none is given."""
    path_text, value = _split_jsonpath(text)
    # As in kubectl, quotes around the value are not part of it.
    wanted = "" if value is None else value.strip("'\"").strip()
    if value is not None and not wanted:
        raise CommandError("--for=jsonpath: there is no value behind the =", code=ExitCode.USAGE)
    try:
        path = parse_path_argument(path_text)
    except JsonPathError as error:
        raise CommandError(f"--for=jsonpath: {error}", code=ExitCode.USAGE) from None

    def values(obj: Object) -> list[str]:
        return [value_text(value) for value in path.find(obj.to_dict())]

    def test(obj: Object) -> bool:
        found = values(obj)
        return wanted in (text.strip() for text in found) if wanted else bool(found)

    def says(obj: Object | None) -> str:
        if obj is None:
            return "it does not exist"
        return f"{path.text} is {', '.join(values(obj)) or 'not set'}"

    return ObjectWaitCondition(test, f"{path.text} is {wanted or 'set'}", says)


def seconds_to_wait(given: float | None, default: float) -> float:
    """How long to wait: the option, or a default; for ever if it is below zero."""
    seconds = default if given is None else given
    return math.inf if seconds < 0 else seconds


def wait_for_each(
    client: masthead.Client,
    source: ManifestSource,
    conditions: Sequence[WaitCondition[Object]],
    *,
    total: int,
    timeout: float,
    no_color: bool,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Wait for several conditions, one after the other; a timeout is that of all of them.

    Args:
        client: The client.
        source: The objects, or their manifests.
        conditions: What to wait for.
        total: How many objects there are.
        timeout: Seconds to wait; ``math.inf`` for ever, 0 to look once.
        no_color: Whether the option ``--no-color`` is given.
        clock: Seconds that only grow.

    Raises:
        CommandError: If it takes too long, or an object has failed.
        MastheadError: As any call.
    """
    end, output = clock() + timeout, WaitOutput(gone="condition met")
    for condition in conditions:
        # Rounded, because messages show the seconds.
        left = round(max(end - clock(), 0.0), 3)
        wait_for(client, source, condition, total=total, timeout=left, no_color=no_color, output=output)


def wait_for(
    client: masthead.Client,
    source: ManifestSource,
    condition: WaitCondition[Object],
    *,
    total: int,
    timeout: float,
    no_color: bool,
    output: WaitOutput | None = None,
) -> None:
    """Wait for objects, with a line for each object that meets the condition.

    Args:
        client: The client.
        source: The objects, or their manifests.
        condition: The condition.
        total: The number of objects.
        timeout: Seconds to wait; ``math.inf`` for ever.
        no_color: Whether the option ``--no-color`` is given.
        output: What is printed; None for the default.

    Raises:
        CommandError: If it takes too long, or an object has failed.
        MastheadError: As any call.
    """
    shown = output or WaitOutput()
    with Work("waiting", total=total, no_color=no_color) as work, telling_warnings(work.warn):
        watched = _Watched(condition, work, shown.done)
        try:
            with _calling_after(shown.notice_after, watched.notify):
                client.wait_for_manifests(source, watched.condition, timeout=timeout)
        except DeadlineError as error:
            raise _timed_out(error) from None
        except ObjectFailedError as error:
            raise CommandError(str(error), hint="masthead get ... -o yaml shows its status") from None
        # The test of a deleted object gets None, and so has no label to print.
        for label in watched.unmet if shown.gone else ():
            work.line(f"{label} {shown.gone}")


@contextmanager
def _calling_after(seconds: float | None, call: Callable[[], None]) -> Generator[None]:
    """Call a function in a thread if the block takes longer than some seconds; None for never."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _Watched:
    """A condition that reports progress whenever it is tested."""

    def __init__(self, condition: WaitCondition[Object], work: Work, done: str) -> None:
        self._condition = condition
        self._work = work
        self._done = done
        self._met: set[tuple[str, str]] = set()
        self._unmet: dict[tuple[str, str], str] = {}
        self._states: dict[tuple[str, str], str] = {}
        self._is_late = False
        self._noticed: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    @property
    def condition(self) -> WaitCondition[Unstructured]:
        """The same condition."""
        return WaitCondition(self._test, self._condition.description, self._condition.says)

    @property
    def unmet(self) -> list[str]:
        """Objects that did not meet the condition when they were last seen. After the wait, they no longer exist."""
        return list(self._unmet.values())

    def notify(self) -> None:
        """Say what is waited for, now and for objects that are seen later. Any thread may call it."""
        with self._lock:
            self._is_late = True
            for key in list(self._unmet):
                self._notice(key)

    def _notice(self, key: tuple[str, str]) -> None:
        # A few objects show the cause; the timeout lists more of them.
        if key in self._noticed or len(self._noticed) >= _MAX_NOTICES:
            return
        self._noticed.add(key)
        say_beside(f"waiting for {self._unmet[key]}: {self._states[key]}")

    def _test(self, obj: Unstructured | None) -> bool:
        holds = self._condition(obj)
        if obj is None:
            if holds:
                self._work.advance()
            return holds
        label = label_of(obj)
        key = (label, obj.metadata.namespace)
        # Every event of an object tests the condition again; its line is printed once.
        if not holds:
            state = self._condition.says(obj)
            with self._lock:
                self._unmet[key], self._states[key] = label, state
                if self._is_late:
                    self._notice(key)
            self._work.detail(f"{label}: {state}")
        elif key not in self._met:
            self._met.add(key)
            with self._lock:
                self._unmet.pop(key, None)
            self._work.advance()
            self._work.line(f"{label} {self._done}")
        return holds


def label_of(obj: Unstructured) -> str:
    """An object as kubectl names it in lines: ``deployment.apps/web``."""
    gvk = obj.gvk
    kind = f"{gvk.kind}.{gvk.group}" if gvk.group else gvk.kind
    return f"{kind.lower()}/{obj.metadata.name}"


def _timed_out(error: MastheadError) -> CommandError:
    head, *rest = str(error).splitlines()
    # The indented lines list the objects; the advice after them is for programs.
    lines = [head, *(f"  {line.strip()}" for line in rest if line.startswith(" "))]
    # A condition that an object lacks, among others, is mostly misspelt.
    hint = "check the condition's name" if "it has no condition" in str(error) and " yet, but " in str(error) else ""
    return CommandError("\n".join(lines), hint=hint or "wait longer with --timeout", code=ExitCode.TIMEOUT)
