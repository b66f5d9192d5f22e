"""Rotation of credentials and CA bundles under a running client."""

from __future__ import annotations

import asyncio
import logging
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected
from tests.integration.guarded import Gate, kubeconfig, running
from tests.unit.auth.plugins import Program
from tests.unit.transport.servers import serving

import masthead.server
from masthead._rest import connect
from masthead.api.core.v1 import ConfigMap
from masthead.config import Config
from masthead.errors import TransportError, UnauthorizedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from masthead.server import Server

OLD, NEW = "the-0ld-token", "the-n3w-token"


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Lets a minute pass for code that checks files periodically."""
    passed = [0.0]
    monkeypatch.setattr(connect, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0]))

    def minute() -> None:
        passed[0] += 60.0

    return minute


def put(path: Path, content: str) -> None:
    """Replace a file as programs do that care: by another, in one step."""
    fresh = path.with_suffix(".new")
    fresh.write_text(content)
    fresh.replace(path)


async def look(client: Any) -> None:
    found = await client.core_v1.namespaces().get("default")
    assert found.metadata.name == "default"


def port_of(server: Server) -> int:
    return int(server.url.rpartition(":")[2])


async def test_a_token_in_a_file_is_read_again_when_the_server_refuses_it(tmp_path: Path, facade: str) -> None:
    """A file that is read once works until its token expires, and then never again."""
    put(tmp_path / "token", OLD)
    async with masthead.server.run(token=OLD) as first:
        config = Config(server=first.url, token_file=tmp_path / "token")
        client = connected(config, facade)
        await look(client)

    async with client, masthead.server.run(token=NEW, port=port_of(first)) as second:
        with pytest.raises(UnauthorizedError):
            await look(client)
        put(tmp_path / "token", NEW)
        await look(client)
        await look(client)
        assert [request.code for request in second.requests] == [401, 401, 200, 200]


async def test_a_token_is_read_again_before_it_is_refused(
    tmp_path: Path, facade: str, later: Callable[[], None]
) -> None:
    """The kubelet swaps a symlink to a folder; the path of the token stays, and so does its modification time."""
    for name, token in {"one": OLD, "two": NEW}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(token)
    (tmp_path / "..data").symlink_to("one")
    (tmp_path / "token").symlink_to("..data/token")
    gate = Gate()
    async with serving(gate.handle, gate.context(optional=True)) as guarded:
        config = kubeconfig(tmp_path, guarded.secure_url, gate.trusted, {"tokenFile": "token"})
        async with connected(config, facade) as client:
            await look(client)
            (tmp_path / "..fresh").symlink_to("two")
            (tmp_path / "..fresh").replace(tmp_path / "..data")
            later()
            await look(client)

    assert [each.headers["authorization"] for each in gate.seen] == [f"Bearer {OLD}", f"Bearer {NEW}"]


async def test_a_token_file_that_vanishes_is_reported_once_and_its_token_stays_in_use(
    tmp_path: Path, facade: str, later: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path / "token", OLD)
    async with masthead.server.run(token=OLD) as server:
        config = Config(server=server.url, token_file=tmp_path / "token")
        async with connected(config, facade) as client:
            await look(client)
            (tmp_path / "token").unlink()
            for _ in range(3):
                later()
                await look(client)

    (record,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert "cannot be read" in record.getMessage()
    assert OLD not in caplog.text


async def test_a_new_authority_is_trusted_once_its_file_is_there(
    tmp_path: Path, facade: str, later: Callable[[], None]
) -> None:
    async with masthead.server.run(tls=True, token=OLD) as first:
        put(tmp_path / "ca.crt", first.ca)
        config = kubeconfig(tmp_path, first.url, "ca.crt", {"token": OLD})
        client = connected(config, facade, attempts=1)
        await look(client)

    async with client, masthead.server.run(tls=True, token=OLD, port=port_of(first)) as second:
        with pytest.raises(TransportError, match="signed by an authority that is not trusted"):
            await look(client)
        assert not second.requests
        put(tmp_path / "ca.crt", second.ca)
        later()
        await look(client)


async def test_a_half_written_ca_bundle_is_ignored(
    tmp_path: Path, facade: str, later: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    async with masthead.server.run(tls=True, token=OLD) as server:
        put(tmp_path / "ca.crt", server.ca)
        config = kubeconfig(tmp_path, server.url, "ca.crt", {"token": OLD})
        async with connected(config, facade) as client:
            await look(client)
            put(tmp_path / "ca.crt", server.ca[:100])
            for _ in range(3):
                later()
                await look(client)

    (record,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert "the previous value stays in use" in record.getMessage()


async def test_a_watch_survives_a_server_restart_with_another_token_and_ca(
    tmp_path: Path, facade: str, later: Callable[[], None]
) -> None:
    disk, settings = tmp_path / "cluster.db", {"name": "settings", "namespace": "default"}
    put(tmp_path / "token", OLD)
    async with masthead.server.run(bootstrap=False, tls=True, token=OLD, data=disk) as first:
        put(tmp_path / "ca.crt", first.ca)
        config = kubeconfig(tmp_path, first.url, "ca.crt", {"tokenFile": "token"})
        client = connected(config, facade)
        maps = client.core_v1.config_maps("default")
        since = (await maps.list()).metadata.resource_version
        events = maps.watch(resource_version=since)
        await maps.create({"metadata": settings, "data": {"color": "red"}})
        assert [(await anext(events)).object.data["color"]] == ["red"]

    async with (
        client,
        masthead.server.run(bootstrap=False, tls=True, token=NEW, data=disk, port=port_of(first)) as second,
    ):
        put(tmp_path / "ca.crt", second.ca)
        put(tmp_path / "token", NEW)
        later()
        async with connected(kubeconfig(tmp_path, second.url, "ca.crt", {"token": NEW}), facade) as other:
            changed = ConfigMap.from_dict({"metadata": settings, "data": {"color": "blue"}})
            await other.core_v1.config_maps("default").update(changed)
        async with asyncio.timeout(60):
            delivered = await anext(events)
        await events.close()

    assert (delivered.type, delivered.object.data) == ("MODIFIED", {"color": "blue"})


async def test_a_new_client_certificate_is_sent_once_both_its_files_are_present(
    tmp_path: Path, facade: str, later: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    before, after = gate.pair("before"), gate.pair("after")
    user = {"client-certificate": "tls.crt", "client-key": "tls.key"}
    put(tmp_path / "tls.crt", before.certificate)
    put(tmp_path / "tls.key", before.key)
    async with serving(gate.handle, gate.context()) as guarded:
        config = kubeconfig(tmp_path, guarded.secure_url, gate.trusted, user)
        async with connected(config, facade) as client:
            await look(client)
            put(tmp_path / "tls.crt", after.certificate)
            later()
            await look(client)
            put(tmp_path / "tls.key", after.key)
            later()
            await look(client)

    assert gate.users == ["before", "before", "after"]
    (record,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert "the key belongs to another certificate" in record.getMessage()


async def test_an_exec_plugin_runs_again_after_a_401(tmp_path: Path, facade: str) -> None:
    program = Program(tmp_path).gives(token=OLD)
    async with masthead.server.run(token=OLD) as first:
        config = kubeconfig(tmp_path, first.url, "", running(program))
        client = connected(config, facade)
        await look(client)

    async with client, masthead.server.run(token=NEW, port=port_of(first)) as second:
        program.gives(token=NEW)
        await asyncio.gather(*(look(client) for _ in range(6)))
        await look(client)
        assert [request.code for request in second.requests].count(200) == 7

    assert program.runs == 2


async def test_a_certificate_from_an_exec_plugin_is_replaced_when_it_expires(tmp_path: Path, facade: str) -> None:
    gate = Gate()
    program = Program(tmp_path)
    async with serving(gate.handle, gate.context()) as guarded:
        config = kubeconfig(tmp_path, guarded.secure_url, gate.trusted, running(program))
        async with connected(config, facade) as client:
            for user, expires in {"before": "2001", "after": "2999"}.items():
                program.gives(**gate.pair(user).as_status(), expirationTimestamp=f"{expires}-01-01T00:00:00Z")
                await look(client)
            runs = program.runs
            await look(client)

    assert gate.users == ["before", "after", "after"]
    assert program.runs == runs
