"""Copies to and from containers, blocking and async: the embedded server's shell, and real tars on this machine."""

from __future__ import annotations

import asyncio
import io
import os
import stat
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected
from tests.streaming_server import PROGRAM, streaming_server

import masthead.server
from masthead.api.core.v1 import Container, Pod
from masthead.config import from_kubeconfig
from masthead.errors import (
    ArgumentError,
    BadRequestError,
    CopyError,
    ExecTimeoutError,
    NotFoundError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from masthead.config import Config
    from masthead.streams import CopyProgress


@dataclass(frozen=True)
class Remote:
    """A container, and an empty directory in it."""

    pods: Any
    directory: str

    def path(self, name: str) -> str:
        return f"{self.directory}/{name}"


@pytest.fixture(scope="module")
def embedded() -> Iterator[Config]:
    with masthead.server.run() as running, masthead.Client(kubeconfig=running.kubeconfig()) as client:
        pods = client.core_v1.pods("default")
        pods.create(Pod.new("web", spec={"containers": [Container(name="main", image="app")]}))
        running.kubelet.start("web")
        yield from_kubeconfig(running.kubeconfig())


@pytest.fixture(scope="module")
def streamtest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Config]:
    if not PROGRAM.is_file():
        pytest.skip(f"there is no {PROGRAM}")
    with streaming_server(tmp_path_factory.mktemp("streamtest") / "log") as config:
        yield config


@pytest.fixture(params=["embedded", pytest.param("streamtest", marks=pytest.mark.real)])
async def remote(request: pytest.FixtureRequest, facade: str) -> AsyncIterator[Remote]:
    config: Config = request.getfixturevalue(request.param)
    async with connected(config, facade) as client:
        pods, directory = client.core_v1.pods("default"), f"/tmp/copy-{uuid.uuid4()}"
        await pods.exec("web", ["mkdir", "-p", directory])
        yield Remote(pods, directory)
        await pods.exec("web", ["rm", "-rf", directory])


ODD_NAMES = ["-x", "a b", "a\nb", "'\"$(id)`", "é", "n" * 200]


def sample(folder: Path) -> Path:
    """A directory with a bit of everything."""
    (folder / "d" / "empty").mkdir(parents=True)
    for name in ODD_NAMES:
        (folder / name).write_text(name)
    (folder / "d" / "program").write_bytes(os.urandom(100_000))
    (folder / "d" / "program").chmod(0o750)
    os.utime(folder / "d" / "program", (1e9, 1e9))
    (folder / "d" / "link").symlink_to("../-x")
    return folder


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """All that a directory has: modes, contents, targets of links."""
    return {
        str(each.relative_to(folder)): (
            each.lstat().st_mode,
            bytes(each.readlink()) if each.is_symlink() else each.read_bytes() if each.is_file() else b"",
        )
        for each in folder.rglob("*")
    }


async def test_a_directory_comes_back_as_it_was_sent(remote: Remote, tmp_path: Path) -> None:
    source = sample(tmp_path / "source")

    await remote.pods.copy_to("web", source, remote.directory)
    await remote.pods.copy_from("web", remote.path("source"), tmp_path / "back")

    assert contents(tmp_path / "back") == contents(source)
    assert (tmp_path / "back/d/program").stat().st_mtime == 1e9


async def test_a_file_comes_back_as_it_was_sent(remote: Remote, tmp_path: Path) -> None:
    source = tmp_path / "-odd name"
    source.write_bytes(os.urandom(2_000_000))
    source.chmod(0o740)
    os.utime(source, (1e9, 1e9))

    await remote.pods.copy_to("web", source, remote.directory)
    await remote.pods.copy_from("web", remote.path("-odd name"), str(tmp_path / "back"))

    back = tmp_path / "back"
    assert back.read_bytes() == source.read_bytes()
    assert (stat.S_IMODE(back.stat().st_mode), back.stat().st_mtime) == (0o740, 1e9)


async def test_a_copy_goes_into_directories_and_otherwise_gets_the_name_of_the_target(
    remote: Remote, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "f").write_text("x")

    await remote.pods.copy_to("web", source / "f", remote.path("named"))
    await remote.pods.copy_to("web", source, remote.path("new"))
    await remote.pods.copy_to("web", source, remote.path("new"))
    await remote.pods.copy_to("web", f"{source}/.", f"{remote.path('new')}/")

    paths = ("named", "new/f", "new/source/f")
    assert [await remote.pods.read_file("web", remote.path(each)) for each in paths] == [b"x"] * 3

    await remote.pods.copy_from("web", remote.path("new"), tmp_path / "back")
    await remote.pods.copy_from("web", f"{remote.path('new')}/.", tmp_path / "back")
    await remote.pods.copy_from("web", remote.path("new/source"), tmp_path / "back")
    await remote.pods.copy_from("web", remote.path("named"), f"{tmp_path / 'back'}/")

    assert sorted(contents(tmp_path / "back")) == ["f", "named", "source", "source/f"]


async def test_sources_that_are_links_are_followed(remote: Remote, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "d").mkdir(parents=True)
    (source / "d" / "f").write_text("x")
    (source / "to-file").symlink_to("d/f")
    (source / "to-directory").symlink_to("d")
    (tmp_path / "link").symlink_to("source")

    await remote.pods.copy_to("web", tmp_path / "link", remote.directory)
    for name in ("to-file", "to-directory"):
        await remote.pods.copy_from("web", remote.path(f"link/{name}"), tmp_path)

    assert (tmp_path / "to-directory/f").read_text() == (tmp_path / "to-file").read_text() == "x"
    assert not any((tmp_path / name).is_symlink() for name in ("to-directory", "to-file"))


async def test_open_files_are_sources_and_targets_too(remote: Remote) -> None:
    data, target = os.urandom(1_000_000), io.BytesIO()

    await remote.pods.copy_to("web", io.BytesIO(data), remote.path("-f"))
    await remote.pods.copy_from("web", remote.path("-f"), target)

    assert target.getvalue() == data


@pytest.mark.parametrize("data", [b"bytes", "text", io.BytesIO(b"file"), [b"of", b" many"], b""])
async def test_a_file_is_written_and_read(remote: Remote, data: Any) -> None:
    await remote.pods.write_file("web", remote.path("f"), data)

    expected = {"text": b"text"}.get(data) if isinstance(data, str) else data
    if isinstance(data, io.BytesIO):
        expected = data.getvalue()
        data.seek(0)
    if isinstance(data, list):
        expected = b"".join(data)
    assert await remote.pods.read_file("web", remote.path("f")) == expected


async def test_links_that_lead_out_are_left_out_and_named(remote: Remote, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "f").write_text("x")
    (source / "absolute").symlink_to("/etc/passwd")
    (source / "up").symlink_to("../../..")
    await remote.pods.copy_to("web", source, remote.path("d"))

    with pytest.raises(CopyError) as caught:
        await remote.pods.copy_from("web", remote.path("d"), tmp_path / "one")
    await remote.pods.copy_from("web", remote.path("d"), tmp_path / "two", skip_special=True)

    assert len(caught.value.skipped) == 2
    for copy in ("one", "two"):
        assert [each.name for each in (tmp_path / copy).iterdir()] == ["f"]


async def test_progress_counts_bytes_and_files(remote: Remote, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("a", "b"):
        (source / name).write_bytes(bytes(700_000))
    sent, received = list[Any](), list[Any]()

    await remote.pods.copy_to("web", source, remote.directory, progress=sent.append)
    await remote.pods.copy_from("web", remote.path("source/a"), tmp_path / "a", progress=received.append)

    def figures(progress: CopyProgress) -> tuple[int, int | None, int]:
        return (progress.bytes_done, progress.bytes_total, progress.files_done)

    assert figures(sent[-1]) == (1_400_000, 1_400_000, 2)
    assert figures(received[-1]) == (700_000, 700_000, 1)
    assert [figures(each) for each in sent] == sorted(figures(each) for each in sent)


async def test_what_a_progress_callback_raises_ends_the_copy(remote: Remote, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(3_000_000))

    def refuse(_: CopyProgress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        await remote.pods.copy_to("web", tmp_path / "f", remote.path("f"), progress=refuse)
    await remote.pods.write_file("web", remote.path("g"), bytes(3_000_000))
    with pytest.raises(RuntimeError, match="enough"):
        await remote.pods.copy_from("web", remote.path("g"), tmp_path / "g", progress=refuse)

    assert list(contents(tmp_path)) == ["f"]


async def test_sources_that_are_not_there_are_named(remote: Remote, tmp_path: Path) -> None:
    missing = remote.path("missing")

    with pytest.raises(CopyError, match=r"missing.*No such file"):
        await remote.pods.copy_to("web", tmp_path / "missing", remote.directory)
    with pytest.raises(CopyError, match="No such file") as caught:
        await remote.pods.copy_from("web", missing, tmp_path / "back")
    with pytest.raises(CopyError, match="No such file"):
        await remote.pods.read_file("web", missing)

    assert (caught.value.path, bool(caught.value.stderr)) == (missing, True)
    assert not contents(tmp_path)


async def test_targets_that_are_not_there_are_named(remote: Remote, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    await remote.pods.write_file("web", remote.path("f"), b"x")

    with pytest.raises(CopyError, match="missing is not a directory"):
        await remote.pods.copy_to("web", tmp_path / "f", remote.path("missing/f"))
    with pytest.raises(CopyError, match="is not a directory"):
        await remote.pods.copy_to("web", tmp_path / "f", f"{remote.path('missing')}/")
    with pytest.raises(CopyError):
        await remote.pods.write_file("web", remote.path("missing/f"), b"x")
    with pytest.raises(CopyError, match="is a directory"):
        await remote.pods.write_file("web", remote.directory, b"x")
    for target in (tmp_path / "missing" / "f", f"{tmp_path}/missing/", f"{tmp_path}/f/"):
        with pytest.raises(CopyError):
            await remote.pods.copy_from("web", remote.path("f"), target)

    assert list(contents(tmp_path)) == ["f"]


async def test_a_directory_does_not_replace_a_file(remote: Remote, tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    await remote.pods.write_file("web", remote.path("taken"), b"precious")
    await remote.pods.write_file("web", remote.path("directory"), b"precious")

    for target in (remote.path("taken"), remote.directory):
        with pytest.raises(CopyError, match=r"is a file or a link in the container, and .* is a directory"):
            await remote.pods.copy_to("web", tmp_path / "directory", target)

    for name in ("taken", "directory"):
        assert await remote.pods.read_file("web", remote.path(name)) == b"precious"


async def test_a_file_does_not_replace_a_directory(remote: Remote, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x")
    await remote.pods.exec("web", ["mkdir", remote.path("taken")])

    with pytest.raises(CopyError, match=r"taken is a directory in the container, and .* is none"):
        await remote.pods.copy_to("web", tmp_path / "taken", remote.directory)

    await remote.pods.exec("web", ["test", "-d", remote.path("taken")], check=True)


async def test_links_in_the_place_of_a_copy_give_way_to_files_only(remote: Remote, tmp_path: Path) -> None:
    links, new = tmp_path / "links", tmp_path / "new"
    (links / "inner").mkdir(parents=True)
    for name, target in {"to-directory": "inner", "to-nothing": "missing"}.items():
        (links / name).symlink_to(target)
        (new / "directories" / name).mkdir(parents=True)
        (new / name).write_text("x")
    await remote.pods.copy_to("web", links, remote.directory)
    holder = remote.path("links")

    for refused in ("directories/to-directory", "directories/to-nothing", "to-directory"):
        with pytest.raises(CopyError, match="name another target"):
            await remote.pods.copy_to("web", new / refused, holder)
    await remote.pods.copy_to("web", new / "to-nothing", holder)
    await remote.pods.copy_to("web", f"{new}/.", f"{holder}/to-directory")

    await remote.pods.exec("web", ["test", "-L", f"{holder}/to-directory"], check=True)
    for path in ("to-nothing", "inner/to-nothing"):
        assert await remote.pods.read_file("web", f"{holder}/{path}") == b"x"


async def test_a_name_that_is_not_utf8_is_copied(remote: Remote, tmp_path: Path) -> None:
    source = tmp_path / "\udcff"
    source.write_text("x")

    await remote.pods.copy_to("web", source, remote.directory)
    await remote.pods.copy_from("web", remote.directory, tmp_path / "back")

    assert (tmp_path / "back/\udcff").read_text() == "x"


async def test_what_was_there_stays_if_the_source_cannot_be_read(remote: Remote, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("before")

    with pytest.raises(CopyError):
        await remote.pods.copy_from("web", remote.path("missing"), tmp_path / "f")

    assert (tmp_path / "f").read_text() == "before"


async def test_more_than_allowed_is_an_error(remote: Remote, tmp_path: Path) -> None:
    await remote.pods.write_file("web", remote.path("f"), bytes(100_000))

    with pytest.raises(CopyError, match="max_bytes"):
        await remote.pods.read_file("web", remote.path("f"), max_bytes=50_000)
    with pytest.raises(CopyError, match="max_bytes"):
        await remote.pods.copy_from("web", remote.path("f"), tmp_path / "f", max_bytes=50_000)

    assert not contents(tmp_path)


@pytest.mark.parametrize("path", ["", "a\0b", "\udcff"])
async def test_what_is_no_path_is_refused(remote: Remote, tmp_path: Path, path: str) -> None:
    (tmp_path / "f").write_text("x")
    for copy in (
        remote.pods.copy_to("web", tmp_path / "f", path),
        remote.pods.copy_from("web", path, tmp_path),
        remote.pods.read_file("web", path),
        remote.pods.write_file("web", path, b""),
    ):
        with pytest.raises(ArgumentError):
            await copy


async def test_pods_and_containers_that_are_not_there_are_said_so(remote: Remote, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        await remote.pods.copy_from("missing1", "/etc/hosts", tmp_path)
    with pytest.raises(BadRequestError):
        await remote.pods.read_file("web", "/etc/hosts", container="missing")


async def test_a_copy_ends_at_its_timeout(remote: Remote) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield bytes(1000)
            await asyncio.sleep(0)

    with pytest.raises(ExecTimeoutError, match="not done within"):
        await remote.pods.write_file("web", "/dev/null", endless(), timeout=0.2)


async def test_a_timeout_of_the_callers_own_is_not_taken_for_that_of_the_copy(remote: Remote, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")

    def refuse(_: CopyProgress) -> None:
        raise TimeoutError("mine")

    def silent() -> Iterator[bytes]:
        yield b"x"
        raise TimeoutError("mine")

    for copy in (
        remote.pods.copy_to("web", tmp_path / "f", remote.path("f"), progress=refuse),
        remote.pods.write_file("web", remote.path("g"), silent()),
        remote.pods.write_file("web", remote.path("g"), silent(), timeout=60),
    ):
        with pytest.raises(TimeoutError, match=r"^mine$"):
            await copy
