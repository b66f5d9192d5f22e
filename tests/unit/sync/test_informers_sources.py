"""Sources of informers of the blocking client, valid and invalid ones."""

from __future__ import annotations

import _thread
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cache.fake_list_watch import FakeListWatch
from tests.unit.sync.recording_handler import TIMEOUT, RecordingHandler, threads

import masthead.aio
from masthead._sync.client import Client
from masthead._sync.informer import SharedInformer
from masthead.config import load
from masthead.errors import ArgumentError, IndexConflictError, InformerStateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def client(kubeconfig_file: Path) -> Iterator[Client]:
    with Client(kubeconfig=kubeconfig_file) as client:
        yield client


def test_a_custom_source_has_its_own_loop_which_ends_with_it() -> None:
    source = FakeListWatch()
    source.put("a", "1")
    handler = RecordingHandler()
    with SharedInformer(source) as informer:
        informer.add_event_handler(on_add=handler)
        informer.wait_for_cache_sync(TIMEOUT, handlers=True)
        assert informer.lister.get("shop/a").data == {"value": "1"}
        assert "masthead-client" in threads()

    assert handler.names == ["a"]
    assert threads() == []


def test_a_handler_may_stop_the_informer_and_its_loop_ends_too() -> None:
    source = FakeListWatch()
    source.put("a", "1")
    informer, seen = SharedInformer(source), threading.Event()

    def stop_once_it_was_seen(_: object) -> None:
        seen.wait(TIMEOUT)
        informer.stop()

    (loop_thread,) = _started_by(lambda: informer.add_event_handler(on_add=stop_once_it_was_seen))
    informer.start()
    seen.set()
    loop_thread.join(TIMEOUT)

    assert informer.is_stopped
    assert not loop_thread.is_alive()


def test_running_it_ends_with_its_loop() -> None:
    source, handler = FakeListWatch(), RecordingHandler()
    source.put("a", "1")
    informer = SharedInformer(source)
    informer.add_event_handler(on_add=handler)
    running = threading.Thread(target=informer.run)
    running.start()
    handler.until("a")
    informer.stop()
    running.join(TIMEOUT)

    assert threads() == []


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Make interrupts raise KeyboardInterrupt, whatever handler the test runner has set."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_of_running_it_ends_its_loop_too() -> None:
    source = FakeListWatch()
    source.put("a", "1")
    informer = SharedInformer(source)
    informer.add_event_handler(on_add=lambda _: _thread.interrupt_main())

    with pytest.raises(KeyboardInterrupt):
        informer.run()

    assert informer.is_stopped
    assert threads() == []


@pytest.mark.parametrize("begin", [SharedInformer.start, SharedInformer.run, SharedInformer.__enter__])
def test_an_informer_that_cannot_be_started_leaves_no_loop(
    begin: Callable[[SharedInformer[Any]], object],
) -> None:
    def fail(_: object) -> Any:
        raise LookupError("no such shelf")

    informer = SharedInformer(FakeListWatch(), queue=fail)

    with pytest.raises(LookupError, match="no such shelf"):
        begin(informer)
    assert threads() == []
    with pytest.raises(InformerStateError, match="it has been stopped; make a new one"):
        begin(informer)


def test_starting_it_twice_does_not_end_its_loop() -> None:
    source = FakeListWatch()
    source.put("a", "1")
    with SharedInformer(source) as informer:
        for again in (informer.start, informer.run):
            with pytest.raises(InformerStateError, match="it has been started"):
                again()
        informer.wait_for(lambda copy: len(copy) == 1, TIMEOUT)
        source.put("b", "1")

    assert threads() == []


def test_an_informer_that_was_never_started_needs_no_stop() -> None:
    SharedInformer(FakeListWatch())
    assert threads() == []


def test_resources_of_two_clients_are_refused(client: Client, kubeconfig_file: Path) -> None:
    with Client(kubeconfig=kubeconfig_file) as other:
        sources = [client.core_v1.pods("a"), other.core_v1.pods("b")]
        with pytest.raises(ArgumentError, match="one informer has one client"):
            SharedInformer(sources)


async def test_resources_of_an_async_client_are_refused(kubeconfig_file: Path) -> None:
    async with masthead.aio.Client(load(kubeconfig_file)) as other:
        wrong: Any = other.core_v1.pods()
        with pytest.raises(ArgumentError, match=r"masthead\.aio\.SharedInformer"):
            SharedInformer(wrong)


@pytest.mark.parametrize("source", ["pods", [], None, 3])
def test_an_invalid_source_is_rejected(source: Any) -> None:
    with pytest.raises(ArgumentError):
        SharedInformer(source)


def test_a_client_is_rejected_as_a_source(client: Client) -> None:
    wrong: Any = client
    with pytest.raises(ArgumentError, match="neither listed nor watched"):
        SharedInformer(wrong)


def test_invalid_arguments_are_rejected_on_construction(client: Client) -> None:
    with pytest.raises(IndexConflictError):
        SharedInformer(client.core_v1.pods(), indexers={"namespace": lambda _: []})


def _started_by(start: Callable[[], object]) -> list[threading.Thread]:
    """The loops that something started."""
    before = {*threading.enumerate()}
    start()
    return [each for each in threading.enumerate() if each not in before and each.name == "masthead-client"]
