"""The life of a server from entering its context to leaving it, its settings, records and controls."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import socket
import sqlite3
import ssl
import stat
import subprocess
import sys
import threading
import urllib.request
import weakref
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import aiohttp
import pytest
import yaml
from tests.server.calls import MAPS, Caller, config_map

import masthead.server
from masthead._meta.metadata import ObjectMeta
from masthead._meta.unstructured import Unstructured
from masthead.api.core.v1 import ConfigMap, Namespace
from masthead.errors import ArgumentError, ClosedError, ConfigError, UnknownKindError
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

    from masthead.server import Server


def is_listening(url: str) -> bool:
    address = urlsplit(url)
    try:
        with socket.create_connection((address.hostname or "", address.port or 0), timeout=5):
            return True
    except ConnectionRefusedError:
        return False


# Starting and stopping


async def test_it_runs_in_the_event_loop_of_an_async_block() -> None:
    before = threading.active_count()
    async with (
        masthead.server.run() as server,
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {server.token}"}) as client,
        client.get(f"{server.url}/version") as response,
    ):
        assert response.status == 200
        assert threading.active_count() == before
    assert not is_listening(server.url)


def test_it_runs_in_a_thread_of_its_own_for_code_that_blocks(server: Server, caller: Caller) -> None:
    assert caller.call("GET", "/version").json["minor"] == "36"
    assert is_listening(server.url)


def test_at_the_end_of_the_block_thread_and_port_are_gone() -> None:
    before = threading.active_count()
    with masthead.server.run() as server:
        assert threading.active_count() == before + 1

    assert threading.active_count() == before
    assert not is_listening(server.url)


async def test_at_the_end_of_the_block_nothing_is_left_in_the_loop() -> None:
    before = asyncio.all_tasks()
    async with masthead.server.run(token=None) as server, aiohttp.ClientSession(server.url) as client:
        async with client.get("/api/v1/pods") as response:
            assert response.status == 200
        stream = await client.get("/api/v1/pods?watch=1")
        stream.close()

    assert asyncio.all_tasks() == before
    timers = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
    assert [timer for timer in timers if not timer.cancelled() and "masthead" in repr(timer)] == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_process_that_is_forked_off_while_a_server_runs_ends_as_any_other(host: str) -> None:
    script = f"""
import os, sys, warnings
import masthead.server

warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn about fork
with masthead.server.run(host="{host}") as server:
    child = os.fork()
    if child == 0:
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("7\n", "", 0)


def test_a_forked_process_is_told_that_the_server_runs_in_its_parent() -> None:
    script = """
import os, warnings
import masthead.server

warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn about fork
with masthead.server.run() as server:
    child = os.fork()
    if child == 0:
        for use in (lambda: server.requests, server.block_until_idle):
            try:
                use()
            except masthead.errors.ClosedError as error:
                print(error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (
        done.stdout.splitlines() == ["the server runs in the process that this one was forked from; use it there"] * 2
    )


def test_all_addresses_of_a_host_listen_on_one_port() -> None:
    with masthead.server.run(host="localhost") as server:
        port = urlsplit(server.url).port or 0
        with pytest.raises(ConfigError, match=r"cannot listen on localhost:.* in use"):
            masthead.server.run(host="localhost", port=port).__enter__()
        assert is_listening(server.url)


def test_an_error_in_the_block_comes_out_and_the_server_is_gone() -> None:
    with pytest.raises(LookupError), masthead.server.run() as server:
        raise LookupError

    assert not is_listening(server.url)


def test_servers_run_side_by_side_and_know_nothing_of_each_other() -> None:
    with masthead.server.run() as first, masthead.server.run() as second:
        assert (first.url, first.token) != (second.url, second.token)
        caller = Caller(first.url, first.token)
        caller.call("POST", MAPS, config_map("a"))
        caller.close()
        assert (len(first.requests), len(second.requests)) == (1, 0)


async def test_a_server_in_a_thread_serves_an_async_test() -> None:
    with masthead.server.run(token=None) as server:
        async with (
            aiohttp.ClientSession(server.url) as client,
            client.post(MAPS, json=config_map("a")) as made,
        ):
            assert made.status == 201
        await server.wait_for_idle()
        assert len(server.requests) == 1


def test_a_block_is_entered_once() -> None:
    running = masthead.server.run()
    with running, pytest.raises(ConfigError, match=r"run\(\) again"):
        running.__enter__()
    with pytest.raises(ConfigError, match=r"run\(\) again"):
        running.__enter__()


async def test_an_async_block_is_entered_once() -> None:
    running = masthead.server.run()
    async with running:
        with pytest.raises(ConfigError, match=r"run\(\) again"):
            await running.__aenter__()


def test_after_the_block_records_can_be_read_and_controls_raise() -> None:
    with masthead.server.run(clock=VirtualClock(), bootstrap=False) as server:
        caller = Caller(server.url, server.token)
        caller.call("POST", MAPS, config_map("a"))
        caller.close()

    obj = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))
    assert [request.info.verb for request in server.requests] == ["create"]
    assert [each.type for each in server.history(obj)] == ["ADDED"]
    assert server.revision == 6
    for steer in (server.compact, server.block_until_idle, lambda: server.advance(1)):
        with pytest.raises(ClosedError, match="has stopped"):
            steer()
    server.faults.fail(500).remove()
    assert repr(server) == f"<Server {server.url}, stopped>"


def test_a_server_shows_where_it_listens(server: Server) -> None:
    assert repr(server) == f"<Server {server.url}>"


async def test_stopping_twice_is_harmless() -> None:
    async with masthead.server.run() as server:
        await server.stop()
        with pytest.raises(ClosedError):
            await server.wait_for_idle()


def test_stored_objects_are_in_the_data_file_after_a_restart(tmp_path: Path) -> None:
    for expected in (404, 200):
        with masthead.server.run(data=tmp_path / "data") as server:
            caller = Caller(server.url, server.token)
            assert caller.call("GET", f"{MAPS}/a").code == expected
            caller.call("POST", MAPS, config_map("a"))
            caller.close()


def test_a_data_file_serves_one_server_at_a_time(tmp_path: Path) -> None:
    with (
        masthead.server.run(data=tmp_path / "data"),
        pytest.raises(ConfigError, match="in use by another server"),
        masthead.server.run(data=tmp_path / "data"),
    ):
        pass


def test_a_port_in_use_is_named(server: Server, tmp_path: Path) -> None:
    port = urlsplit(server.url).port or 0
    data = tmp_path / "data"
    with pytest.raises(ConfigError, match=rf"^cannot listen on 127.0.0.1:{port}: [a-zA-Z ]+\. Name another port"):
        masthead.server.run(port=port, data=data).__enter__()
    with masthead.server.run(data=data):  # which the one that did not start has let go of
        pass


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"host": "0.0.0.0"}, "allow_remote=True"),
        ({"host": "::"}, "allow_remote=True"),
        ({"host": "example.com"}, "allow_remote=True"),
        ({"port": 70_000}, "no port 70000"),
        ({"port": -1}, "no port -1"),
        ({"port": "8001"}, "port must be a whole number, not '8001'"),
        ({"host": None}, "host must be text"),
        ({"token": 7}, "token must be text"),
        ({"bookmark_every": "1"}, "bookmark_every must be a number"),
        ({"bookmark_every": float("nan")}, "bookmark_every"),
        ({"history": 1.5}, "history must be a whole number"),
        ({"token": ""}, "token=None"),
        ({"token": " "}, "token=None"),
        ({"bookmark_every": 0}, "bookmark_every"),
        ({"watch_timeout": -1}, "watch_timeout"),
        ({"history": 0}, "history"),
        ({"history_bytes": 0}, "history_bytes"),
        ({"history_bytes": "1"}, "history_bytes must be a whole number"),
        ({"allowed_hosts": "localhost"}, "allowed_hosts must be a list"),
        ({"allowed_hosts": [7]}, "allowed_hosts must be a list"),
        ({"backlog": 0}, "backlog"),
        ({"data": "/nowhere/to/be/found"}, "/nowhere/to/be/found"),
        ({"data": 7}, "data must be a path, or None, not 7"),
        ({"data": ""}, "data is empty: name a file"),
        ({"data": "a\0b"}, "data must be a path, and 'a.x00b' has a character"),
        ({"token_file": "\ud800"}, "token_file must be a path"),
        ({"load": ["a", ""]}, "load is empty"),
        ({"load": "x" * 300}, "cannot load x+: File name too long"),
        ({"snapshot": 1}, "1 is no snapshot of a server"),
        ({"clock": 1}, "clock must be a clock, such as masthead.server.VirtualClock, not 1"),
        ({"clock": str}, "clock must be a clock"),
        ({"seed": "x"}, "seed must be a whole number, or None, not 'x'"),
        ({"seed": True}, "seed must be a whole number"),
        ({"port": True}, "port must be a whole number, not True"),
        ({"event_ttl": 1e30}, "event_ttl .* must be at most 1,000,000,000, or math.inf"),
        ({"event_ttl": float("nan")}, "event_ttl"),
        ({"watch_timeout": float("inf")}, "watch_timeout .* must be at most 1,000,000,000$"),
        ({"controller_delays": {"garbage": True}}, "controller_delays must be a mapping"),
        ({"controller_delays": {"garbage": 10**400}}, "controller_delays: garbage acts after 0 to"),
        ({"controller_delays": []}, "controller_delays must be a mapping"),
        ({"host": ""}, "host is empty"),
        ({"host": "a b", "allow_remote": True}, "host: 'a b' is neither a host name nor an address"),
        ({"allowed_hosts": [""]}, "--allow-host. is empty"),
        ({"allowed_hosts": ["http://a"]}, "'http://a' is neither a host name nor an address; write it without scheme"),
        ({"allowed_hosts": ["bücher.example"]}, "an international name as xn--"),
        ({"allowed_hosts": ["a" * 64]}, "is neither a host name"),
        ({"token": "a\nb"}, "cannot be sent in a header"),
        ({"token": "\u00e9"}, "cannot be sent in a header"),
        *(
            ({switch: value}, f"{switch} must be a bool, not {value!r}")
            for switch in ("tls", "bootstrap", "watch_list", "record_changes", "allow_remote")
            for value in (1, "no", None)
        ),
    ],
)
def test_invalid_settings_are_rejected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        masthead.server.run(**settings).__enter__()


@pytest.mark.parametrize(
    "name",
    [
        "*",
        "my_service",
        "Example.COM.",
        "[::1]",
        "ab--cd",
        "web.ab--cd.example",
        "xn--bcher-kva.example",
        "XN--bcher-kva.example",
        "10.0.0.1",
    ],
)
def test_any_name_that_clients_can_use_is_allowed_as_a_host(name: str) -> None:
    with masthead.server.run(allowed_hosts=[name], tls=True, bootstrap=False) as server:
        assert server.url.startswith("https://")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1"])
def test_loopback_addresses_need_no_permission(host: str) -> None:
    try:
        with masthead.server.run(host=host) as server:
            assert is_listening(server.url)
    except ConfigError as error:
        if "cannot listen" in str(error):
            pytest.skip(f"there is no {host} here")
        raise


def test_a_server_on_a_wildcard_address_is_reached_by_loopback() -> None:
    with masthead.server.run(host="0.0.0.0", allow_remote=True) as server:
        assert urlsplit(server.url).hostname == "127.0.0.1"
        assert is_listening(server.url)


# Authentication


def test_a_token_is_required_unless_it_is_disabled(server: Server) -> None:
    for token, code in ((None, 403), ("wrong", 401), (server.token, 200)):
        caller = Caller(server.url, token)
        assert caller.call("GET", MAPS).code == code
        caller.close()
    with masthead.server.run(token=None) as open_to_all:
        caller = Caller(open_to_all.url)
        assert caller.call("GET", MAPS).code == 200
        caller.close()


def test_the_token_counts_as_a_password_too(server: Server) -> None:
    """Because Go's clients send no token without TLS."""
    caller = Caller(server.url)
    for password, code in ((server.token, 200), ("wrong", 403), ("", 403)):
        shown = base64.b64encode(f"anybody:{password}".encode()).decode()
        assert caller.call("GET", MAPS, headers={"Authorization": f"Basic {shown}"}).code == code
    assert caller.call("GET", MAPS, headers={"Authorization": "Basic ?"}).code == 403
    caller.close()


def test_random_tokens_are_long_and_never_the_same(server: Server) -> None:
    with masthead.server.run() as other:
        assert server.token != other.token
        assert len(server.token or "") >= 32


def test_a_chosen_token_counts() -> None:
    with masthead.server.run(token="chosen") as server:
        caller = Caller(server.url, "chosen")
        assert caller.call("GET", MAPS).code == 200
        caller.close()


def test_tls_uses_a_certificate_signed_by_the_servers_authority() -> None:
    with masthead.server.run(tls=True, token=None) as server:
        assert server.url.startswith("https://")
        trust = ssl.create_default_context(cadata=server.ca)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
        )
        with opener.open(f"{server.url}/version", timeout=60) as response:
            assert json.load(response)["minor"] == "36"


def test_a_kubeconfig_has_all_that_a_client_needs_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    loose = tmp_path / "kubeconfig"
    loose.touch(mode=0o644)
    with masthead.server.run(tls=True) as server:
        path = server.write_kubeconfig(loose)
        found = yaml.safe_load(path.read_text())
        assert found == yaml.safe_load(server.kubeconfig())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert found["clusters"][0]["cluster"]["server"] == server.url
    assert found["clusters"][0]["cluster"]["certificate-authority-data"]
    assert found["users"][0]["user"] == {"token": server.token}
    assert found["current-context"] == found["contexts"][0]["name"]


def test_a_kubeconfig_speaks_tls_on_the_port_of_plain_http() -> None:
    with masthead.server.run() as server:
        cluster = yaml.safe_load(server.kubeconfig())["clusters"][0]["cluster"]
        assert cluster["server"] == server.url.replace("http://", "https://")
        assert base64.b64decode(cluster["certificate-authority-data"]).decode() == server.ca
        assert str(server.token) not in cluster["server"]

        caller = Caller(server.url, server.token)
        assert caller.call("GET", MAPS).code == 200
        caller.close()
        with masthead.Client(kubeconfig=server.kubeconfig()) as client:
            assert client.core_v1.config_maps("default").list() is not None
        assert {seen.code for seen in server.requests} == {200}


def test_a_server_that_requires_tls_refuses_plain_http() -> None:
    with (
        masthead.server.run(tls=True, token=None) as server,
        socket.create_connection((urlsplit(server.url).hostname or "", urlsplit(server.url).port or 0)) as plain,
    ):
        plain.settimeout(60)
        plain.sendall(b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"HTTP" not in plain.recv(1024)
        assert not server.requests


def test_connections_that_say_nothing_end_with_the_server() -> None:
    with masthead.server.run() as server:
        address = urlsplit(server.url)
        silent = [socket.create_connection(("127.0.0.1", address.port or 0), timeout=60) for _ in range(3)]
        silent[0].sendall(b"\x16")  # the beginning of a TLS handshake
        caller = Caller(server.url, server.token)
        assert caller.call("GET", "/version").code == 200
        caller.close()
    for connection in silent:
        assert connection.recv(1) == b""
        connection.close()


def test_without_certificates_the_token_is_part_of_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trustme", None)  # as if it were not installed
    with masthead.server.run(token="secret") as server:
        cluster = yaml.safe_load(server.kubeconfig())["clusters"][0]["cluster"]
        assert cluster == {"server": f"{server.url}/~secret"}
        assert server.ca == ""
        with masthead.Client(kubeconfig=server.kubeconfig()) as client:
            assert client.core_v1.namespaces().get("default").metadata.uid


@pytest.mark.parametrize("tls", [False, True])
def test_a_kubeconfig_stays_valid_after_a_restart_with_the_same_data_and_port(tmp_path: Path, tls: bool) -> None:
    data = tmp_path / "data"
    with masthead.server.run(data=data, tls=tls) as server:
        config, port = server.kubeconfig(), urlsplit(server.url).port or 0
    for kept in (tmp_path / "data.authority.pem", tmp_path / "data.token"):
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600

    with (
        masthead.server.run(data=data, tls=tls, port=port) as server,
        masthead.Client(kubeconfig=config) as client,
    ):
        assert server.kubeconfig() == config
        assert client.core_v1.namespaces().get("default").metadata.uid


def test_a_damaged_authority_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "data.authority.pem").write_text("nothing of the kind")
    with (
        pytest.raises(ConfigError, match=r"data\.authority\.pem holds no certificate authority; delete it"),
        masthead.server.run(data=tmp_path / "data", tls=True),
    ):
        pass


def test_a_token_that_was_chosen_is_not_kept(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with masthead.server.run(data=data, token="chosen") as server:
        assert server.token == "chosen"
    assert not (tmp_path / "data.token").exists()
    with masthead.server.run(data=data) as first:
        pass
    with masthead.server.run(data=data, token=None) as open_to_all, masthead.server.run() as another:
        assert open_to_all.token is None
        assert another.token != first.token
    with masthead.server.run(data=data) as again:
        assert again.token == first.token


@pytest.mark.parametrize("content", ["", "two words", "short", "tökens-are-not-written-so"])
def test_a_damaged_token_is_an_error_that_names_the_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "data.token").write_text(content, encoding="utf-8")
    with (
        pytest.raises(ConfigError, match=r"token .*data\.token|data\.token holds no token; delete it"),
        masthead.server.run(data=tmp_path / "data"),
    ):
        pass


def test_no_token_is_kept_beside_a_file_that_is_no_data_file(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("something else")
    with pytest.raises(ConfigError, match="precious"), masthead.server.run(data=tmp_path / "precious"):
        pass
    assert [file.name for file in tmp_path.iterdir()] == ["precious"]


def test_servers_without_data_share_one_authority_per_process() -> None:
    with masthead.server.run() as one, masthead.server.run() as other, masthead.server.run(tls=True) as alone:
        assert one.ca == other.ca
        assert alone.ca != one.ca


def test_a_kubeconfig_is_not_written_through_a_symbolic_link(server: Server, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("precious")
    for target in (elsewhere, tmp_path / "nowhere"):
        link = tmp_path / "kubeconfig"
        link.symlink_to(target)
        with pytest.raises(ConfigError, match="it is a symbolic link, which is not followed"):
            server.write_kubeconfig(link)
        link.unlink()

    assert elsewhere.read_text() == "precious"
    assert [each.name for each in tmp_path.iterdir()] == ["elsewhere"]


def test_a_kubeconfig_replaces_a_file_and_not_its_links(server: Server, tmp_path: Path) -> None:
    """A second name of the file keeps its content: the new file is another one, put in its place."""
    path, other = tmp_path / "kubeconfig", tmp_path / "other"
    path.write_text("before")
    other.hardlink_to(path)
    server.write_kubeconfig(path)

    assert other.read_text() == "before"
    assert yaml.safe_load(path.read_text())["kind"] == "Config"
    with pytest.raises(ConfigError, match="Is a directory"):
        server.write_kubeconfig(tmp_path)


def test_a_kubeconfig_that_cannot_be_written_is_a_clear_error(server: Server, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot write a kubeconfig to"):
        server.write_kubeconfig(tmp_path / "no" / "folder")


# What happened


def test_requests_are_recorded_in_order_with_their_codes_and_without_the_token(server: Server, caller: Caller) -> None:
    caller.call("POST", f"{MAPS}?fieldManager=me", config_map("a"))
    caller.call("GET", f"{MAPS}/b")
    caller.call("PUT", f"{MAPS}/a/nonsense", config_map("a"))
    caller.call("GET", "/healthz")

    seen = server.requests
    assert [(each.method, each.info.verb, each.info.name, each.code) for each in seen] == [
        ("POST", "create", "", 201),
        ("GET", "get", "b", 404),
        ("PUT", "update", "a", 404),
        ("GET", "get", "", 200),
    ]
    assert (seen[0].path, seen[0].query) == (MAPS, "fieldManager=me")
    assert (seen[0].info.resource, seen[0].info.namespace) == ("configmaps", "default")
    assert json.loads(seen[0].body) == config_map("a")
    assert "authorization" not in seen[0].headers
    assert str(server.token) not in repr(seen)


def test_a_list_of_requests_does_not_change_under_its_reader(server: Server, caller: Caller) -> None:
    before = server.requests
    caller.call("GET", MAPS)

    assert before == []


@pytest.mark.slow
def test_large_requests_are_remembered_as_far_as_memory_allows() -> None:
    from masthead_server.request_recorder import RecordedRequest, RequestRecorder
    from masthead_server.wire.request_info import RequestInfo

    requests = RequestRecorder()
    for index in range(100):
        requests.add(RecordedRequest("POST", str(index), "", RequestInfo("create"), {}, bytes(1024 * 1024)))
    assert [request.path for request in requests if request.body] == [str(index) for index in range(92, 100)]
    assert sum(1 for _ in requests) == 100
    for index in range(20_000):
        requests.add(RecordedRequest("GET", str(index), "", RequestInfo("get"), {}, b""))
    assert sum(1 for _ in requests) == 10_000


def test_long_requests_without_a_body_are_remembered_as_far_as_memory_allows() -> None:
    from masthead_server.request_recorder import RecordedRequest, RequestRecorder
    from masthead_server.wire.request_info import RequestInfo

    requests = RequestRecorder()
    for index in range(600):
        requests.add(RecordedRequest("GET", f"/{index}", "q" * 1024 * 1024, RequestInfo("get"), {"x": "y" * 1024}, b""))

    assert [request.path for request in requests] == [f"/{index}" for index in range(585, 600)]


def test_requests_without_a_token_do_not_displace_the_others() -> None:
    from masthead_server.request_recorder import RecordedRequest, RequestRecorder
    from masthead_server.wire.request_info import RequestInfo

    requests = RequestRecorder()
    requests.add(RecordedRequest("GET", "first", "", RequestInfo("get"), {}, b""))
    for index in range(20_000):
        requests.add(RecordedRequest("GET", str(index), "x" * 100, RequestInfo("get"), {}, b""), is_refused=True)
    requests.add(RecordedRequest("GET", "last", "", RequestInfo("get"), {}, b""))

    paths = [request.path for request in requests]
    assert (paths[0], paths[-1]) == ("first", "last")
    assert paths[1:-1] == [str(index) for index in range(19_000, 20_000)]


@pytest.mark.slow
def test_a_request_that_is_dropped_frees_its_body() -> None:
    from masthead_server.request_recorder import RecordedRequest, RequestRecorder
    from masthead_server.wire.request_info import RequestInfo

    class Traceable(RecordedRequest):
        """A request that can be weakly referenced."""

    requests = RequestRecorder()
    forgotten: list[weakref.ref[RecordedRequest]] = []
    for index in range(10_010):
        seen = Traceable("POST", str(index), "", RequestInfo("create"), {}, b"x")
        if index < 10:
            forgotten.append(weakref.ref(seen))
        requests.add(seen)
    gc.collect()

    assert [each() for each in forgotten] == [None] * 10
    # The remaining memory for bodies is for the requests that are still recorded.
    requests.add(RecordedRequest("POST", "large", "", RequestInfo("create"), {}, bytes(8 * 1024 * 1024 - 9_999)))
    assert all(request.body for request in requests)


def test_history_has_every_write_to_an_object(server: Server, caller: Caller) -> None:
    caller.call("POST", MAPS, config_map("other"))
    caller.call("POST", MAPS, config_map("a"))
    caller.call("PUT", f"{MAPS}/a", config_map("a", data={"k": "v"}))
    caller.call("DELETE", f"{MAPS}/a")
    caller.call("POST", MAPS, config_map("a", data={"k": "again"}))

    changes = server.history(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))

    assert [change.type for change in changes] == ["ADDED", "MODIFIED", "DELETED", "ADDED"]
    assert [change.object.data for change in changes] == [{}, {"k": "v"}, {"k": "v"}, {"k": "again"}]
    assert [change.version for change in changes] == [change.object.metadata.resource_version for change in changes]
    assert len({change.object.metadata.uid for change in changes}) == 2


def test_history_accepts_typed_and_unstructured_objects_with_and_without_a_namespace(server: Server) -> None:
    typed = server.history(Namespace(metadata=ObjectMeta(name="default")))
    untyped = server.history(
        Unstructured.from_dict({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    )

    assert [each.type for each in typed] == [each.type for each in untyped] == ["ADDED"]
    assert isinstance(typed[0].object, Namespace)
    assert isinstance(untyped[0].object, Unstructured)


def test_history_begins_at_the_last_compaction(server: Server, caller: Caller) -> None:
    caller.call("POST", MAPS, config_map("a"))
    server.compact()
    caller.call("PUT", f"{MAPS}/a", config_map("a", data={"k": "v"}))

    changes = server.history(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))

    assert [change.type for change in changes] == ["MODIFIED"]


def test_history_of_an_object_that_cannot_exist_is_an_error(server: Server) -> None:
    with pytest.raises(UnknownKindError, match="serves no"):
        server.history(Unstructured.from_dict({"apiVersion": "example.com/v1", "kind": "X", "metadata": {}}))
    with pytest.raises(ArgumentError, match="has no namespace"):
        server.history(ConfigMap(metadata=ObjectMeta(name="a")))


def test_seeds_make_uids_the_same_in_every_run() -> None:
    uids: list[str] = []
    for _ in range(2):
        with masthead.server.run(seed=7) as server:
            caller = Caller(server.url, server.token)
            uids.append(caller.call("POST", MAPS, config_map("a")).json["metadata"]["uid"])
            caller.close()

    assert uids[0] == uids[1]


@pytest.mark.parametrize("value", [b"", b'"metadata"', b'"a":1}x', b'"a"]', b'"a":"\xff"}', '"a":1}', b"\x00" * 9])
def test_a_damaged_record_is_an_error_that_names_it(tmp_path: Path, value: bytes | str) -> None:
    data = tmp_path / "data"
    with masthead.server.run(data=data, token=None) as server:
        caller = Caller(server.url)
        assert caller.call("POST", MAPS, config_map("a")).code == 201
        caller.close()
    with closing(sqlite3.connect(data)) as file:
        file.execute("UPDATE record SET value = ? WHERE key = 'default/a'", (value,))
        file.commit()

    with (
        pytest.raises(ConfigError, match=r"data is damaged: its record \d+, of configmaps default/a, is no JSON"),
        masthead.server.run(data=data),
    ):
        pass
