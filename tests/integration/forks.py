"""A program that forks while its threads are busy: ``python -m tests.integration.forks KUBECONFIG COUNT``."""

from __future__ import annotations

import faulthandler
import logging
import os
import sys
import threading
import traceback
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

import masthead
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ClosedError, InformerStateError

if TYPE_CHECKING:
    from collections.abc import Callable

WITHIN = 30.0
_log = logging.getLogger(__name__)


class Log(logging.Handler):
    """Formats what is logged. Not a file: its lock is Python's, and stays locked in a child."""

    def emit(self, record: logging.LogRecord) -> None:
        self.format(record)


class Parent:
    """A client, an informer and threads that use the library all the time."""

    def __init__(self, kubeconfig: str) -> None:
        self.kubeconfig = kubeconfig
        self.client = self.make_client()
        self.maps = self.client.core_v1.config_maps("default")
        self.created = self.maps.create(ConfigMap.new("written"))
        self.informer = masthead.SharedInformer(self.maps)
        self.informer.add_event_handler(on_update=lambda old, new: _log.info("%s %s", old.key, new.key))
        self.factory = masthead.SharedInformerFactory(self.client)
        self.recorder = masthead.EventRecorder(self.client, "forks")
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=[act]) for act in (self._write, self._come_and_go, self._log)
        ]

    def make_client(self) -> masthead.Client:
        return masthead.Client(kubeconfig=self.kubeconfig)

    def start(self) -> None:
        self.recorder.start()
        self.informer.start()
        self.informer.wait_for_cache_sync(WITHIN)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, act: Callable[[int], object]) -> None:
        for number in count():
            if self._ended.is_set():
                return
            act(number)

    def _write(self, number: int) -> None:
        self.maps.patch("written", masthead.Patch.merge({"data": {"number": str(number)}}))

    def _come_and_go(self, _: int) -> None:
        # TLS contexts and handshakes, imports, and threads that begin and end.
        with self.make_client() as client, masthead.SharedInformer(client.core_v1.secrets()) as informer:
            informer.wait_for_cache_sync(WITHIN)

    def _log(self, number: int) -> None:
        logging.getLogger("masthead.sync").info("%d", number)
        self.informer.lister.namespace("default").get("written")
        self.recorder.record(self.created, "Normal", "Seen", "in the parent")


def check_child(parent: Parent) -> None:
    """What is inherited refuses; what the child makes itself works."""
    uses: list[Callable[[], object]] = [
        lambda: parent.maps.get("written"),
        lambda: next(parent.maps.watch()),
        lambda: parent.informer.wait_for_cache_sync(WITHIN),
        lambda: parent.informer.add_event_handler(on_add=print),
        lambda: parent.recorder.flush(timeout=WITHIN),
        parent.informer.lister.list,
    ]
    for use in uses:
        with suppress(ClosedError, InformerStateError):
            raise AssertionError(f"a child has got {use()!r} from its parent")
    assert parent.informer.health.state == "forked"
    parent.recorder.record(parent.created, "Normal", "Seen", "in a child")
    parent.informer.stop()
    parent.factory.stop()
    parent.client.close()
    logging.getLogger("masthead.sync").warning("in a child")
    with parent.make_client() as client:
        assert client.core_v1.config_maps("default").get("written").data["number"]


def fork(parent: Parent) -> int:
    """Fork, and return the exit code of the child."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    # A child that hangs says where, and ends.
    faulthandler.dump_traceback_later(WITHIN, exit=True)
    try:
        check_child(parent)
    except BaseException:  # noqa: BLE001 - a child must not go on with the program of its parent
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def main(kubeconfig: str, forks: str) -> None:
    """Fork in two threads."""
    logging.basicConfig(level=logging.DEBUG, handlers=[Log()])
    parent = Parent(kubeconfig)
    codes: list[int] = []

    def fork_often() -> None:
        codes.extend(fork(parent) for _ in range(int(forks) // 2))

    with parent.client:
        parent._write(0)
        parent.start()
        try:
            other = threading.Thread(target=fork_often)
            other.start()
            fork_often()
            other.join()
        finally:
            parent.stop()
        assert set(codes) == {0}, codes
        parent.informer.wait_for_version(parent.maps.get("written"), timeout=WITHIN)


if __name__ == "__main__":
    main(*sys.argv[1:])
