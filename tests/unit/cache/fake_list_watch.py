"""A source in memory that can be listed and watched: no server, no client, no sockets, and any time one likes."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from masthead._client.watch_event import WatchEvent, read_events
from masthead.api.core.v1 import ConfigMap, ConfigMapList
from masthead.errors import BadRequestError, DeadlineError, DecodeError, ExpiredError, StatusError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from masthead._client.listwatch import ListWatchOptions
    from masthead._meta.object import ObjectList

Plain: TypeAlias = dict[str, Any]
Plains: TypeAlias = list[Plain]  # the class below has a method of that name
Lines: TypeAlias = list[bytes]
Words: TypeAlias = list[str]
Events: TypeAlias = "list[WatchEvent[ConfigMap]]"


@dataclass(frozen=True)
class RecordedCall:
    """A request."""

    verb: str
    options: ListWatchOptions


@dataclass
class FakeListWatch:
    """ConfigMaps that a test puts and removes, as an independent `ListerWatcher`.

    Attributes:
        namespace: Where they are.
        supports_initial_events: Whether a watch may request initial events.
        refuses: Whether such a watch is refused.
        ends_initial_events: Whether a bookmark ends the initial events.
        is_silent: Whether open and new watches send nothing more.
        errors: The errors of the next requests, in this order; None for no error.
        requests: All requests.
        version: The version of the last change.
    """

    namespace: str = "shop"
    supports_initial_events: bool = True
    refuses: bool = False
    ends_initial_events: bool = True
    is_silent: bool = False
    errors: deque[BaseException | None] = field(default_factory=deque)
    requests: list[RecordedCall] = field(default_factory=list)
    version: int = 10
    item: type[ConfigMap] = ConfigMap
    resource: str = "configmaps"
    incarnation: int = 0
    _objects: dict[str, Plain] = field(default_factory=dict)
    _log: list[tuple[int, bytes]] = field(default_factory=list)
    _forgotten: int = 0
    _pages: dict[str, Plains] = field(default_factory=dict)
    _streams: list[asyncio.Queue[bytes | BaseException | None]] = field(default_factory=list)

    # What a test does with it.

    def put(self, name: str, value: str = "1", **more: Any) -> ConfigMap:
        """Create an object, or change it."""
        was = self._objects.get(name)
        uid = was["metadata"]["uid"] if was else f"uid-{name}-{self.version}"
        obj = self._write("MODIFIED" if was else "ADDED", name, uid, {"data": {"value": value}, **more})
        return ConfigMap.from_wire(json.dumps(obj).encode())

    def spoil(self, name: str) -> None:
        """Make an object undecodable, except for its name and resource version."""
        was = self._objects.get(name)
        metadata = {"generation": "many"}
        self._write("MODIFIED" if was else "ADDED", name, f"uid-{name}", {}, metadata)

    def remove(self, name: str) -> None:
        was = self._objects.pop(name)
        self.version += 1
        metadata = {**was["metadata"], "resourceVersion": str(self.version)}
        self._send("DELETED", {**was, "metadata": metadata})

    def lose_event(self, change: Callable[[], object]) -> None:
        """Make a change that no watch learns of, neither now nor later."""
        streams, self._streams, events = self._streams, [], len(self._log)
        change()
        self._streams = streams
        del self._log[events:]

    def send(self, kind: str, body: object) -> None:
        """Send any event to the open watches."""
        self._send(kind, body)

    def bookmark(self) -> None:
        self._send("BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}})

    def forget(self) -> None:
        """Forget all versions but the present one."""
        self._forgotten = self.version

    def end(self, error: BaseException | None = None) -> None:
        """End the watches that are open, in order or with an error."""
        streams, self._streams = self._streams, []
        for stream in streams:
            stream.put_nowait(error)

    def lose_data(self) -> None:
        """Lose everything, as a server that is started without its data."""
        self.version, self._forgotten, self.incarnation = 10, 0, self.incarnation + 1
        self._objects.clear()
        self._log.clear()

    @property
    def state(self) -> dict[str, str]:
        """The values of all objects, by name."""
        return {name: obj["data"]["value"] for name, obj in self._objects.items() if "data" in obj}

    @property
    def open_streams(self) -> int:
        return len(self._streams)

    @property
    def verbs(self) -> Words:
        """The requests, in a word each: proofs are lists of one object."""
        return [_word(request) for request in self.requests]

    # What an informer does with it.

    def disable_initial_events(self) -> None:
        self.supports_initial_events = False

    async def list(self, options: ListWatchOptions, on_broken: Callable[[DecodeError], None]) -> ObjectList[ConfigMap]:
        self._meet("list", options)
        await asyncio.sleep(0)
        items, token = self._page(options)
        metadata = {"resourceVersion": str(self.version), "continue": token}
        return ConfigMapList.from_wire(json.dumps({"metadata": metadata, "items": items}).encode(), on_error=on_broken)

    async def watch(self, options: ListWatchOptions) -> AsyncGenerator[Sequence[WatchEvent[ConfigMap]], None]:
        self._meet("watch", options)
        since = int(options.resource_version or 0)
        if options.send_initial_events:
            if self.refuses:
                raise BadRequestError("sendInitialEvents is forbidden", code=400, reason="BadRequest")
        elif since < self._forgotten:
            raise ExpiredError("too old resource version", code=410, reason="Expired")
        stream: asyncio.Queue[bytes | BaseException | None] = asyncio.Queue()
        for line in self._initial() if options.send_initial_events else self._since(since):
            stream.put_nowait(line)
        self._streams.append(stream)
        timers = self._schedule_end(stream, options.timeout_seconds)
        try:
            yield ()
            while True:
                yield await self._batch(stream, options.read_timeout)
        except StopAsyncIteration:
            return
        finally:
            for timer in timers:
                timer.cancel()
            if stream in self._streams:
                self._streams.remove(stream)

    def _schedule_end(
        self, stream: asyncio.Queue[bytes | BaseException | None], seconds: int
    ) -> Sequence[asyncio.TimerHandle]:
        """End a watch after its time, with a bookmark two seconds before, as an API server does."""

        def send(what: bytes | None) -> None:
            if stream in self._streams and not self.is_silent:
                stream.put_nowait(what)

        def send_bookmark() -> None:
            send(_line("BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}}))

        call_later = asyncio.get_running_loop().call_later
        return call_later(seconds - 2, send_bookmark), call_later(seconds, send, None)

    async def _batch(self, stream: asyncio.Queue[bytes | BaseException | None], read_timeout: float | None) -> Events:
        try:
            async with asyncio.timeout(read_timeout or 65.0):
                lines = [await stream.get()]
        except TimeoutError:
            raise DeadlineError("nothing came for too long") from None
        while not stream.empty() and isinstance(lines[-1], bytes):
            lines.append(stream.get_nowait())
        events = [*read_events(ConfigMap, [line for line in lines if isinstance(line, bytes)])]
        if isinstance(lines[-1], BaseException):
            raise lines[-1]
        if lines[-1] is None and not events:
            raise StopAsyncIteration
        if lines[-1] is None:
            stream.put_nowait(None)
        for event in events:
            if isinstance(event, StatusError):
                raise event
        return [event for event in events if isinstance(event, WatchEvent)]

    def _meet(self, verb: str, options: ListWatchOptions) -> None:
        self.requests.append(RecordedCall(verb, options))
        if self.errors and (error := self.errors.popleft()) is not None:
            raise error

    def _page(self, options: ListWatchOptions) -> tuple[Plains, str]:
        items = [obj for name, obj in self._objects.items() if options.key in {"", f"{self.namespace}/{name}"}]
        if options.continue_:
            if options.continue_ not in self._pages:
                raise ExpiredError("the token has expired", code=410, reason="Expired")
            items = self._pages.pop(options.continue_)
        if not options.limit or len(items) <= options.limit:
            return items, ""
        token = f"{self.version}-{len(items)}"
        self._pages[token] = items[options.limit :]
        return items[: options.limit], token

    def forget_pages(self) -> None:
        self._pages.clear()

    def _initial(self) -> Lines:
        lines = [_line("ADDED", obj) for obj in self._objects.values()]
        annotations = {"k8s.io/initial-events-end": "true"}
        end = {"metadata": {"resourceVersion": str(self.version), "annotations": annotations}}
        return [*lines, _line("BOOKMARK", end)] if self.ends_initial_events else lines

    def _since(self, version: int) -> Lines:
        return [line for at, line in self._log if at > version]

    def _write(self, kind: str, name: str, uid: str, content: Plain, metadata: Plain | None = None) -> Plain:
        self.version += 1
        about = {
            "name": name,
            "namespace": self.namespace,
            "uid": f"{uid}.{self.incarnation}" if kind == "ADDED" else uid,
            "resourceVersion": str(self.version),
        }
        obj: Plain = {"metadata": {**about, **(metadata or {})}, **content}
        self._objects[name] = obj
        self._send(kind, obj)
        return obj

    def _send(self, kind: str, body: object) -> None:
        line = _line(kind, body)
        self._log.append((self.version, line))
        if not self.is_silent:
            for stream in self._streams:
                stream.put_nowait(line)


def _line(kind: str, body: object) -> bytes:
    return json.dumps({"type": kind, "object": body}).encode()


def _word(call: RecordedCall) -> str:
    options = call.options
    if call.verb == "watch":
        return "watch-list" if options.send_initial_events else f"watch {options.resource_version}"
    if options.key:
        return "proof"
    return "page" if options.continue_ else "list"
