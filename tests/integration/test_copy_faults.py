"""Copies from containers that lie, lack programs, fill up or die, and over connections that break: an error, and no
debris."""

from __future__ import annotations

import asyncio
import io
import os
import tarfile
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.integration.conftest import connected
from tests.streaming_server import PROGRAM, streaming_server
from tests.unit.transport.servers import serving

import masthead
import masthead.aio
import masthead.server
from masthead.api.core.v1 import Container, Pod
from masthead.config import Config, from_kubeconfig
from masthead.errors import CopyError, MastheadError, TransportError
from masthead.testing.virtual_time import LoopClock, run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from masthead.server import ExecProcess, Server

END = bytes(1024)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with masthead.server.run() as running, masthead.Client(kubeconfig=running.kubeconfig()) as client:
        pods = client.core_v1.pods("default")
        for name in ("web", "slim", "full", "deaf", "liar", "noisy"):
            pods.create(Pod.new(name, spec={"containers": [Container(name="app", image="app")]}))
            running.kubelet.start(name)
        running.kubelet.exec("slim", command="tar")(missing)
        running.kubelet.exec("slim", command="sh")(without_tar)
        running.kubelet.exec("slim", command="cat")(print_written)
        running.kubelet.exec("full", command="sh")(full)
        running.kubelet.exec("deaf", command="sh")(deaf)
        running.kubelet.exec("liar", command="test")(is_directory)
        running.kubelet.exec("noisy", command="sh")(noisy)
        yield running


async def missing(process: ExecProcess) -> int:
    await process.stdout.write('OCI runtime exec failed: exec: "tar": executable file not found in $PATH\n')
    return 126


WRITTEN: dict[str, bytes] = {}


async def without_tar(process: ExecProcess) -> int:
    """A shell that knows no tar."""
    _, _, script, _, path, *_ = process.argv
    if "directory" in script:
        await process.stdout.write("parent\n")
    else:
        assert "tar" not in script
        WRITTEN[path] = await process.stdin.read()
        await process.stdout.write("done\n")
    return 0


async def print_written(process: ExecProcess) -> int:
    await process.stdout.write(WRITTEN[process.argv[1]])
    return 0


async def deaf(process: ExecProcess) -> int:
    """What an API server makes of a command that failed if the connection to its node breaks."""
    if "directory" in process.argv[2]:
        await process.stdout.write("parent\ntar\n")
    return 0


async def full(process: ExecProcess) -> int:
    if "directory" in process.argv[2]:
        await process.stdout.write("directory\ntar\n")
        return 0
    await process.stdin.read(100_000)
    await process.stderr.write("tar: big: Cannot write: No space left on device\n")
    return 2


async def noisy(process: ExecProcess) -> int:
    """A shell whose working directory was removed. What it says of that is no answer."""
    await process.stderr.write("sh: 0: getcwd() failed: No such file or directory\n")
    if "directory" in process.argv[2]:
        await process.stdout.write("parent\ntar\n")
    elif process.argv[4] == "/tmp/refused":
        await process.stderr.write("done\n")
    else:
        WRITTEN[process.argv[4]] = await process.stdin.read()
        await process.stdout.write("done\n")
    return 0


async def is_directory(process: ExecProcess) -> int:
    return 0 if process.argv[2].endswith("directory") else 1


@pytest.fixture
async def pods(server: Server, facade: str) -> AsyncIterator[Any]:
    async with connected(from_kubeconfig(server.kubeconfig()), facade) as client:
        yield client.core_v1.pods("default")


def prints(server: Server, data: bytes, *, code: int = 0) -> None:
    """Have the tar of the pod ``liar`` print something."""

    async def tar(process: ExecProcess) -> int:
        await process.stdout.write(data)
        return code

    server.kubelet.exec("liar", command="tar")(tar)


def archive(*members: tuple[str, bytes, dict[str, Any]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as opened:
        for name, content, fields in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in fields.items():
                setattr(info, key, value)
            opened.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def names(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*"))


async def test_without_tar_files_are_copied_by_cat(pods: Any, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(os.urandom(500_000))

    await pods.copy_to("slim", tmp_path / "f", "/tmp/-f")
    await pods.copy_from("slim", "/tmp/-f", tmp_path / "back")

    assert (tmp_path / "back").read_bytes() == (tmp_path / "f").read_bytes()


async def test_without_tar_directories_are_refused(pods: Any, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()

    with pytest.raises(CopyError, match="no tar"):
        await pods.copy_to("slim", tmp_path / "d", "/tmp/d")
    with pytest.raises(CopyError, match="no tar"):
        await pods.copy_from("slim", "/etc", tmp_path / "back")

    assert names(tmp_path) == ["d"]


@pytest.mark.real
async def test_a_runtime_that_finds_no_tar_is_understood(
    tmp_path: Path, facade: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not PROGRAM.is_file():
        pytest.skip(f"there is no {PROGRAM}")
    (tmp_path / "bin").mkdir()
    for name in ("cat", "sh", "test"):
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "f").write_text("x")
    with streaming_server(tmp_path / "log") as config:
        async with connected(config, facade) as client:
            found = client.core_v1.pods("default")
            await found.copy_to("web", tmp_path / "f", str(tmp_path / "g"))
            await found.copy_from("web", str(tmp_path / "g"), tmp_path / "h")
            with pytest.raises(CopyError, match="no tar"):
                await found.copy_from("web", str(tmp_path / "bin"), tmp_path / "copy")
    assert (tmp_path / "h").read_text() == "x"


async def test_a_full_disk_in_the_container_is_said_so(pods: Any, tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes(3_000_000))

    with pytest.raises(CopyError, match=r"No space left.*free some space") as caught:
        await pods.copy_to("full", tmp_path / "big", "/tmp")

    assert caught.value.exit_code == 2
    assert b"No space left" in caught.value.stderr


async def test_success_is_not_believed_unless_the_command_confirms_it(pods: Any, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")

    with pytest.raises(CopyError, match="but the command does not"):
        await pods.copy_to("deaf", tmp_path / "f", "/tmp/f")
    with pytest.raises(CopyError, match="but the command does not"):
        await pods.write_file("deaf", "/tmp/f", b"x")


async def test_what_a_shell_prints_to_stderr_is_not_taken_for_an_answer(pods: Any) -> None:
    await pods.write_file("noisy", "/tmp/written", b"x")
    with pytest.raises(CopyError, match=r"but the command does not.*getcwd\(\) failed") as caught:
        await pods.write_file("noisy", "/tmp/refused", b"x")

    assert WRITTEN["/tmp/written"] == b"x"
    assert caught.value.stderr.endswith(b"done\n")


LIES = {
    "garbage": b"no tar at all " * 100,
    "nothing": b"",
    "truncated": archive(("f", b"x" * 5000, {}))[:3000],
    "without an end": archive(("f", b"x" * 512, {}))[:1024],
    "a header bomb": archive(("f", b"", {"pax_headers": {"path": "x" * 2_000_000}})),
    "more after the end": archive(("f", b"x", {})) + archive(("g", b"x", {})),
    "endless zeros": END * 5000,
    "an absolute name": archive(("/tmp/evil", b"x", {}), ("/tmp/evil", b"x", {})),
    "a way up": archive(("../evil", b"x", {}), ("../evil", b"x", {})),
    "a way through a link": archive(("l", b"", {"type": tarfile.SYMTYPE, "linkname": "."}), ("l/../evil", b"x", {})),
    "a link as a directory": archive(("l", b"", {"type": tarfile.SYMTYPE, "linkname": "d"}), ("l/evil", b"x", {})),
    "a hard link to elsewhere": archive(("l", b"", {"type": tarfile.LNKTYPE, "linkname": "../secret"})),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
@pytest.mark.parametrize("source", ["/file", "/directory"])
async def test_an_archive_that_lies_is_refused(
    server: Server, pods: Any, tmp_path: Path, lie: bytes, source: str
) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "copy").mkdir()
    prints(server, lie)

    with pytest.raises(CopyError):
        await pods.copy_from("liar", source, tmp_path / "copy/new")

    assert (tmp_path / "secret").read_text() == "secret"
    left = [name for name in names(tmp_path / "copy") if name not in {"new", "new/l", "new/f"}]
    assert (left, names(tmp_path)[-1]) == ([], "secret")


async def test_files_that_were_complete_stay_if_tar_could_not_read_others(
    server: Server, pods: Any, tmp_path: Path
) -> None:
    prints(server, archive(("d/f", b"x", {})), code=2)

    with pytest.raises(CopyError, match="exit code 2"):
        await pods.copy_from("liar", "/directory", tmp_path / "copy")

    assert names(tmp_path) == ["copy", "copy/d", "copy/d/f"]


async def test_endless_archives_end_at_the_limit(server: Server, pods: Any, tmp_path: Path) -> None:
    async def tar(process: ExecProcess) -> int:
        while True:
            await process.stdout.write(archive(("f", bytes(9216), {}))[: 512 + 9216])

    server.kubelet.exec("liar", command="tar")(tar)

    with pytest.raises(CopyError, match="max_bytes"):
        await pods.copy_from("liar", "/directory", tmp_path / "copy", max_bytes=2_000_000)


async def test_a_pod_that_dies_in_the_middle_is_an_error(server: Server, pods: Any, tmp_path: Path) -> None:
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def tar(process: ExecProcess) -> int:
        await process.stdout.write(archive(("f", bytes(300_000), {}))[:200_000])
        loop.call_soon_threadsafe(begun.set)
        await asyncio.Event().wait()
        return 0

    server.kubelet.exec("liar", command="tar")(tar)

    async def die() -> None:
        await begun.wait()
        await asyncio.to_thread(server.kubelet.fail, "liar")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(die())
        with pytest.raises((CopyError, TransportError)):
            await pods.copy_from("liar", "/file", tmp_path / "f")
    server.kubelet.start("liar")

    assert names(tmp_path) == []


async def test_a_cancelled_copy_leaves_no_part_of_a_file(server: Server, tmp_path: Path) -> None:
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def tar(process: ExecProcess) -> int:
        await process.stdout.write(archive(("f", bytes(3_000_000), {}))[:2_000_000])
        loop.call_soon_threadsafe(begun.set)
        await asyncio.Event().wait()
        return 0

    server.kubelet.exec("liar", command="tar")(tar)
    async with (
        masthead.aio.Client(from_kubeconfig(server.kubeconfig())) as client,
        asyncio.TaskGroup() as tasks,
    ):
        pods = client.core_v1.pods("default")
        copy = tasks.create_task(pods.copy_from("liar", "/directory", tmp_path / "copy"))
        await begun.wait()
        copy.cancel()

    assert names(tmp_path) == []


@asynccontextmanager
async def without_v5(upstream: str) -> AsyncIterator[Config]:
    """A server of before 1.30, in which stdin cannot be closed: in front of another one, it hides the newer
    protocol."""
    host, port = upstream.removeprefix("http://").split(":")

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection(host, int(port))

        async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                while data := await source.read(2**16):
                    target.write(data.replace(b"v5.channel.k8s.io, ", b""))
                    await target.drain()
            target.close()

        await asyncio.gather(pump(reader, up_writer), pump(up_reader, writer))

    async with serving(relay) as served:
        yield Config(server=served.url)


@pytest.mark.real
async def test_servers_that_cannot_close_stdin_are_told_the_size(tmp_path: Path, facade: str) -> None:
    if not PROGRAM.is_file():
        pytest.skip(f"there is no {PROGRAM}")
    source = tmp_path / "source"
    (source / "d").mkdir(parents=True)
    (source / "d" / "f").write_bytes(os.urandom(300_000))
    remote = tmp_path / "remote"
    remote.mkdir()
    with streaming_server(tmp_path / "log") as config:
        async with without_v5(config.server) as old, connected(old, facade) as client:
            pods = client.core_v1.pods("default")
            await pods.copy_to("web", source, str(remote))
            await pods.write_file("web", str(remote / "w"), b"written")
            with pytest.raises(CopyError, match=r"v4\.channel"):
                await pods.write_file("web", str(remote / "w"), iter([b"x"]))
            await pods.copy_from("web", str(remote), tmp_path / "back")

    assert (tmp_path / "back/source/d/f").read_bytes() == (source / "d" / "f").read_bytes()
    assert (tmp_path / "back/w").read_bytes() == b"written"


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 320_000), st.booleans())
def test_a_connection_that_breaks_anywhere_leaves_no_part_of_a_file(after: int, is_upload: bool) -> None:
    async def main(folder: Path) -> None:
        async with (
            masthead.server.run(clock=LoopClock()) as server,
            masthead.aio.Client(kubeconfig=server.kubeconfig()) as client,
        ):
            pods = client.core_v1.pods("default")
            await pods.create(Pod.new("web", spec={"containers": [Container(name="app", image="app")]}))
            server.kubelet.start("web")
            (folder / "f").write_bytes(bytes(300_000))
            await pods.copy_to("web", folder / "f", "/tmp/f")
            server.faults.drop_stream(after=after, subresource="exec")
            with suppress(MastheadError):
                if is_upload:
                    await pods.copy_to("web", folder / "f", "/tmp/g")
                else:
                    await pods.copy_from("web", "/tmp/f", folder / "g")
            with suppress(FileNotFoundError):
                assert (folder / "g").read_bytes() == (folder / "f").read_bytes()
            assert set(names(folder)) <= {"f", "g"}

    with TemporaryDirectory() as folder:
        run(main(Path(folder)))


async def test_a_copy_that_is_cancelled_as_soon_as_its_file_is_open_leaves_none(server: Server, tmp_path: Path) -> None:
    server.kubelet.files("web")["/cancelled"] = b"x" * 2**20
    async with connected(from_kubeconfig(server.kubeconfig()), "aio") as client, asyncio.TaskGroup() as tasks:
        copy_from = client.core_v1.pods("default").copy_from
        for _ in range(20):
            copying = tasks.create_task(copy_from("web", "/cancelled", tmp_path / "copy"))
            while not names_in(tmp_path):  # noqa: ASYNC110 - a file has no event
                await asyncio.sleep(0)
            copying.cancel()
            await asyncio.wait([copying])
            assert names_in(tmp_path) == set()


def names_in(directory: Path) -> set[str]:
    return {each.name for each in directory.iterdir()}


async def test_a_write_that_has_failed_does_not_wait_for_its_source(pods: Any) -> None:
    reading, writing = os.pipe()
    with (
        open(reading, "rb", buffering=0) as silent,  # noqa: ASYNC230, PTH123 - a pipe
        open(writing, "wb"),  # noqa: ASYNC230, PTH123 - a pipe
        pytest.raises(CopyError),
    ):
        await pods.write_file("deaf", "/tmp/file", silent)
