"""A recorder continues recordings, and leaves everything else alone."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from tests.real_server import wait_until

import masthead
from masthead.api.core.v1 import ConfigMap
from masthead.config import Config
from masthead.errors import ArgumentError, RecordingError
from masthead.recording import Recorder, Recording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def factory() -> Iterator[masthead.SharedInformerFactory]:
    """A factory, without a server."""
    with masthead.Client(Config(server="http://127.0.0.1:1")) as client:
        yield masthead.SharedInformerFactory(client)


@pytest.mark.parametrize("content", [b"", b"my notes", b"]*M\x18" + bytes(100)])
def test_a_file_of_another_kind_is_refused_and_kept(factory: Any, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=r"notes\.txt is .*no recording.*name another file"):
        Recorder(factory, path, keep=1, max_bytes=1).start()
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_so_is_a_part_of_another_kind(factory: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.mhr"
    with Recorder(factory, path):
        pass
    (tmp_path / "a.mhr.7").write_text("a log")
    with pytest.raises(RecordingError, match=r"a\.mhr\.7 is no recording"):
        Recorder(factory, path).start()


def test_folders_and_empty_paths_are_refused(factory: Any, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="is a folder: name a file in it"):
        Recorder(factory, tmp_path).start()
    with pytest.raises(ArgumentError, match="an empty one"):
        Recorder(factory, "")


def test_two_recorders_do_not_share_a_path(tmp_path: Path) -> None:
    with masthead.Client(Config(server="http://127.0.0.1:1")) as client:
        first, second = (masthead.SharedInformerFactory(client) for _ in range(2))
        with Recorder(first, tmp_path / "a.mhr"), pytest.raises(RecordingError, match="another recorder writes"):
            Recorder(second, tmp_path / "a.mhr").start()
        # Afterwards, another one continues.
        with Recorder(second, tmp_path / "a.mhr"):
            pass
        assert {path.name for path in tmp_path.iterdir()} == {"a.mhr", "a.mhr.2"}


def test_a_watch_that_is_broken_at_the_end_is_a_gap(tmp_path: Path) -> None:
    with ExitStack() as cluster:
        server = cluster.enter_context(masthead.server.run(bootstrap=False))
        client = masthead.Client(kubeconfig=server.kubeconfig())
        factory = masthead.SharedInformerFactory(client)
        informer = factory.core_v1.config_maps.informer
        with client, Recorder(factory, tmp_path / "a.mhr"), factory:
            factory.wait_for_cache_sync(timeout=60)
            created = client.core_v1.config_maps("default").create(ConfigMap.new("web"))
            informer.wait_for_version(created, timeout=60)
            cluster.close()
            assert wait_until(lambda: informer.health.failures > 0, within=60)
    with Recording(tmp_path / "a.mhr") as recording:
        (gap,) = recording.gaps
        assert "the watch was broken when the recording ended" in gap.why


def test_a_watch_that_is_open_at_the_end_is_none(tmp_path: Path) -> None:
    with masthead.server.run(bootstrap=False) as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        factory = masthead.SharedInformerFactory(client)
        factory.core_v1.config_maps.informer.add_event_handler(on_add=print)
        with Recorder(factory, tmp_path / "a.mhr"), factory:
            factory.wait_for_cache_sync(timeout=60)
    with Recording(tmp_path / "a.mhr") as recording:
        assert recording.gaps == []
