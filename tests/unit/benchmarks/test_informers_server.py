import base64
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from benchmarks.harness import pods
from benchmarks.sync import clients as sync_clients
from benchmarks.sync import worker as sync_work
from benchmarks.sync.real_server import _puts
from benchmarks.watch import clients as watch_clients
from benchmarks.watch import worker as watch_work
from benchmarks.watch.clients import LISTED, Handler
from benchmarks.watch.server import ONE, PODS, Collection, Server, Update, grouped, kubeconfig


@contextmanager
def serving(count: int) -> Iterator[Server]:
    with Server(Collection(count)) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(5) as found:
        yield found


def connect(server: Server) -> closing[http.client.HTTPConnection]:
    return closing(http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30))


def ask(server: Server, target: str) -> Any:
    with connect(server) as connection:
        connection.request("GET", target)
        return json.load(connection.getresponse())


def test_a_list_has_all_pods_at_once_or_in_pages(server: Server) -> None:
    everything = ask(server, PODS)
    first = ask(server, f"{PODS}?limit=3")
    rest = ask(server, f"{PODS}?limit=3&continue={first['metadata']['continue']}")

    assert everything["items"] == json.loads(pods.generate(5))["items"]
    assert first["items"] + rest["items"] == everything["items"]
    assert first["metadata"]["remainingItemCount"] == 2
    assert "continue" not in rest["metadata"]
    assert {each["metadata"]["resourceVersion"] for each in (everything, first, rest)} == {str(LISTED)}


def test_one_namespace_has_one_pod_and_nothing_else_is_there(server: Server) -> None:
    assert len(ask(server, f"/api/v1/namespaces/{ONE}/pods")["items"]) == 1
    assert ask(server, "/version/")["minor"] == "36"
    assert ask(server, "/api/v1/secrets")["reason"] == "NotFound"


def test_a_watch_begins_with_what_there_is_and_says_no_more_until_it_is_told_to_go() -> None:
    with serving(2) as server, connect(server) as watching:
        watching.request("GET", f"{PODS}?watch=true&sendInitialEvents=true")
        stream = watching.getresponse()
        initial = [json.loads(stream.readline()) for _ in range(3)]

        ask(server, "/go?events=5")
        updates = [json.loads(stream.readline()) for _ in range(5)]

    assert [each["type"] for each in initial] == ["ADDED", "ADDED", "BOOKMARK"]
    assert initial[2]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert {update["type"] for update in updates} == {"MODIFIED"}
    names = [each["object"]["metadata"]["name"] for each in initial[:2]]
    assert [update["object"]["metadata"]["name"] for update in updates] == [*names, *names, names[0]]
    versions = [int(update["object"]["metadata"]["resourceVersion"]) for update in updates]
    assert versions == list(range(LISTED + 1, LISTED + 6))


def test_an_update_is_the_pod_with_another_version_in_a_chunk_that_is_as_long_as_it_says() -> None:
    [pod] = json.loads(pods.generate(1))["items"]
    update = Update.of(json.dumps(pod, separators=(",", ":")).encode())

    length, _, rest = (update.head + b"%d" % (LISTED + 1) + update.tail).partition(b"\r\n")

    assert len(rest) == int(length, 16) + len(b"\r\n")
    pod["metadata"]["resourceVersion"] = str(LISTED + 1)
    assert json.loads(rest) == {"type": "MODIFIED", "object": {"kind": "Pod", "apiVersion": "v1", **pod}}


def test_a_kubeconfig_says_no_more_than_it_must() -> None:
    open_to_all: Any = kubeconfig("http://here")
    guarded: Any = kubeconfig("https://here", token="secret", ca_file="ca.crt")

    assert open_to_all["clusters"][0]["cluster"] == {"server": "http://here"}
    assert open_to_all["users"][0]["user"] == {}
    assert guarded["clusters"][0]["cluster"]["certificate-authority"] == "ca.crt"
    assert guarded["users"][0]["user"] == {"token": "secret"}


def test_what_is_put_into_etcd_has_the_key_and_the_kind_that_a_server_looks_for() -> None:
    [put] = _puts("here", 1)

    pod = json.loads(base64.b64decode(put["value"]))
    assert (pod["kind"], pod["apiVersion"], pod["metadata"]["namespace"]) == ("Pod", "v1", "here")
    assert "resourceVersion" not in pod["metadata"]
    assert base64.b64decode(put["key"]).decode() == f"/registry/pods/here/{pod['metadata']['name']}"


def test_items_are_put_together_in_order_and_the_last_group_has_what_is_left() -> None:
    assert list(grouped(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(grouped([1, 2], 2)) == [[1, 2]]
    assert not list(grouped([], 2))


# -- Contenders --------------------------------------------------------------------------------------------


def ours(contenders: Any) -> list[str]:
    return [name for name, each in contenders.items() if not each.peer]


def written(server: Server, folder: Path) -> str:
    path = folder / "kubeconfig"
    server.write_kubeconfig(path)
    return str(path)


@pytest.mark.parametrize("name", ours(sync_clients.CONTENDERS))
async def test_whoever_syncs_has_all_pods(name: str, server: Server, tmp_path: Path) -> None:
    async with sync_clients.CONTENDERS[name].open(written(server, tmp_path)) as start:
        one, everything = await start(ONE, 1), await start("", 5)

    assert (one.count, everything.count) == (1, 5)


@pytest.mark.slow
async def test_more_or_fewer_pods_than_there_should_be_are_no_measurement(server: Server, tmp_path: Path) -> None:
    lazy = sync_clients.CONTENDERS[sync_clients.LAZY]

    with pytest.raises(RuntimeError, match="should be 6 pods, and there are 5"):
        await sync_work.synced(lazy.open, written(server, tmp_path), "", 6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ours(watch_clients.CONTENDERS))
async def test_whoever_watches_hears_of_all_updates_and_says_what_that_took(name: str, tmp_path: Path) -> None:
    opener = watch_clients.CONTENDERS[name].open

    with serving(2) as server:
        figures = await watch_work.watched(opener, written(server, tmp_path), Handler(10, 2))

    assert (figures["observed"], figures["events"]) == (10, 10)
    assert figures.keys() >= {"wall", "cpu", "held", "peak", "grown"}
