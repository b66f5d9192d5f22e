"""The answers of the page's server: who may ask, what it says, and that it stays within its bounds."""

from __future__ import annotations

import asyncio
import itertools
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import msgspec
import pytest
from tests.ui.many_pods import change_pod, pod_history

from masthead._endpoint.http_requests import EndpointRequest
from masthead._recording.entries import Reconcile
from masthead._ui.server import check_host, serving
from masthead._ui.service import Service
from masthead._ui.sessions import Gate
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from masthead._endpoint.http_requests import EndpointResponse
    from masthead._ui.live_history import LiveHistory

HOST = "127.0.0.1:8000"


class Live:
    """A connection that is well, and the log of every container."""

    def status(self) -> Mapping[str, object]:
        return {"error": "", "loading": 0}

    async def logs(self, namespace: str, name: str, container: str) -> AsyncIterator[str]:
        yield f"{namespace}/{name}/{container}"
        yield "<script>"


class Page:
    """Asks the service as the page does."""

    def __init__(self, history: LiveHistory) -> None:
        self.history = history
        self.gate = Gate()
        self.service = Service(history, self.gate, Live(), title="test")
        self.session = ""

    async def open(self) -> Page:
        answer = await self.ask("/session", method="POST", body=msgspec.json.encode({"token": self.gate.token}))
        self.session = msgspec.json.decode(answer.body)["session"]
        return self

    async def ask(
        self, target: str, *, method: str = "GET", body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> EndpointResponse:
        path, _, query = target.partition("?")
        sent = {"host": HOST, **(headers or {})}
        if self.session:
            sent.setdefault("authorization", f"Bearer {self.session}")
        return await self.service.handle(
            EndpointRequest(method, path, parse_qs(query), sent, body=body, body_length=len(body))
        )

    async def get(self, target: str) -> Any:
        answer = await self.ask(target)
        assert answer.status == HTTPStatus.OK, answer.body
        return msgspec.json.decode(answer.body)


@pytest.fixture
async def page() -> Page:
    times = itertools.count(1_780_000_000_000_000, 1_000)
    return await Page(pod_history(300, lambda: next(times))).open()


async def test_a_token_opens_one_session(page: Page) -> None:
    token = msgspec.json.encode({"token": page.gate.token or "spent"})
    again = await page.ask("/session", method="POST", body=token)
    assert again.status == HTTPStatus.FORBIDDEN
    assert page.gate.token is None


@pytest.mark.parametrize("body", [b"", b"{}", b"[", b'{"token": 1}', b'{"token": "wrong"}'])
async def test_another_token_opens_none(body: bytes) -> None:
    page = Page(pod_history(1, lambda: 0))
    answer = await page.ask("/session", method="POST", body=body)
    assert answer.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN}
    assert page.gate.token is not None


@pytest.mark.parametrize("given", ["", "Bearer ", "Bearer wrong", "Basic x", "bearer"])
@pytest.mark.parametrize("path", ["/api/hello", "/api/table?kind=0", "/api/stream", "/api/logs?id=0"])
async def test_nothing_of_the_cluster_is_told_without_the_session(page: Page, path: str, given: str) -> None:
    assert (await page.ask(path, headers={"authorization": given})).status == HTTPStatus.UNAUTHORIZED


async def test_before_the_exchange_nobody_has_a_session() -> None:
    page = Page(pod_history(1, lambda: 0))
    assert (await page.ask("/api/hello", headers={"authorization": "Bearer "})).status == HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1:8000", "", "a b", "[::1"])
async def test_other_hosts_are_refused(page: Page, host: str) -> None:
    assert (await page.ask("/", headers={"host": host})).status == HTTPStatus.MISDIRECTED_REQUEST


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:8000"])
async def test_names_of_this_machine_are_served(page: Page, host: str) -> None:
    assert (await page.ask("/", headers={"host": host})).status == HTTPStatus.OK


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_other_pages_are_refused(page: Page, headers: Mapping[str, str]) -> None:
    assert (await page.ask("/api/hello", headers=headers)).status == HTTPStatus.FORBIDDEN
    assert (await page.ask("/", headers=headers)).status == HTTPStatus.FORBIDDEN


async def test_a_remote_server_answers_to_addresses_and_to_its_name() -> None:
    gate = Gate("ui.example")
    for host in ("ui.example:80", "10.0.0.1:80", "localhost"):
        gate.check_origin({"host": host})
    with pytest.raises(Exception, match="not served here"):
        gate.check_origin({"host": "evil.example"})


@pytest.mark.parametrize("path", ["/", "/app.js", "/style.css", "/icon.svg", "/api/hello", "/nothing"])
async def test_every_response_has_a_strict_policy(page: Page, path: str) -> None:
    headers = dict((await page.ask(path)).headers)
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["/../service.py", "/static/app.js", "/__init__.py", "/app.js/", "//app.js"])
async def test_only_the_files_of_the_page_are_served(page: Page, path: str) -> None:
    assert (await page.ask(path)).status == HTTPStatus.NOT_FOUND


async def test_the_page_has_no_inline_code_and_stays_small(page: Page) -> None:
    total = 0
    modules = "api app axis details difference dom rows state table tree"
    for name in ("", "style.css", "icon.svg", *(f"{each}.js" for each in modules.split())):
        total += len((await page.ask(f"/{name}")).body)
    html = (await page.ask("/")).body.decode()
    assert total <= 120 * 1024
    assert "<script>" not in html
    assert " style=" not in html
    assert " onclick" not in html


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_it_only_reads(page: Page, method: str) -> None:
    assert (await page.ask("/api/hello", method=method)).status == HTTPStatus.METHOD_NOT_ALLOWED


@pytest.mark.parametrize(
    "target",
    [
        "/api/table",
        "/api/table?kind=x",
        "/api/table?kind=99",
        "/api/table?kind=-1",
        "/api/table?kind=99999999999999999999",
        "/api/object?id=99999",
        "/api/object",
        "/api/reconcile?number=0",
        "/api/at?time=x",
        "/api/axis?since=x",
    ],
)
async def test_wrong_parameters_are_refused(page: Page, target: str) -> None:
    assert (await page.ask(target)).status in {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND}


async def test_a_table_has_all_names_and_the_first_rows(page: Page) -> None:
    found = await page.get("/api/table?kind=0")
    assert [name for name, _, priority in found["columns"] if priority == 0] == [
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
    ]
    assert len(found["ids"]) == len(found["names"]) == found["total"] == 300
    assert len(found["rows"]) == 80
    number, namespace, cells, styles, _ = found["rows"][0]
    assert (number, namespace, cells[:4]) == (found["ids"][0], "team-0", ["pod-00000", "1/1", "Running", "0"])
    assert styles == {"1": "green", "2": "green"}


async def test_rows_are_sent_for_what_is_visible(page: Page) -> None:
    ids = (await page.get("/api/table?kind=0"))["ids"][100:110]
    rows = (await page.get(f"/api/rows?kind=0&ids={','.join(map(str, ids))},999999,x"))["rows"]
    assert [row[0] for row in rows] == ids


async def test_filters_orders_and_namespaces(page: Page) -> None:
    change_pod(page.history, 7)
    filtered = await page.get("/api/table?kind=0&q=app=app-7+-pod-00107&namespace=team-2")
    assert filtered["names"] == ["pod-00007", "pod-00057", "pod-00157", "pod-00207", "pod-00257"]
    ordered = await page.get("/api/table?kind=0&sort=2")
    assert ordered["names"][0] == "pod-00007"
    assert (await page.get("/api/table?kind=0&sort=2&order=down"))["names"][-1] == "pod-00007"


async def test_an_earlier_moment_has_its_own_table_and_tree(page: Page) -> None:
    before = page.history.latest
    change_pod(page.history, 0, "DELETED")
    assert (await page.get("/api/table?kind=0"))["total"] == 299
    assert (await page.get(f"/api/table?kind=0&at={before}"))["total"] == 300
    line = "set-0"
    now, then = [
        next(each for each in (await page.get(f"/api/tree?at={at}"))["lines"] if each[3] == line)
        for at in (before + 1, before)
    ]
    assert (now[-1], then[-1]) == (99, 100)


async def test_a_branch_of_the_tree_opens(page: Page) -> None:
    lines = (await page.get("/api/tree"))["lines"]
    assert [line[3] for line in lines if line[1] <= 1] == ["team-0", "set-0", "set-1", "set-2"]
    assert len(lines) == 4
    opened = (await page.get(f"/api/tree?flip={lines[1][0]}"))["lines"]
    assert len(opened) == 104
    assert opened[2][2:6] == ["Pod", "pod-00000", "1/1", "Running"]


async def test_a_circle_of_owners_is_shown(page: Page) -> None:
    for name, owner in (("x", "y"), ("y", "x")):
        obj = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "odd", "uid": name, "ownerReferences": [{"uid": owner}]},
        }
        page.history.add(0, "odd", name, "ADDED", msgspec.json.encode(obj))
    lines = (await page.get("/api/tree?namespace=odd"))["lines"]
    assert {"x", "y"} <= {line[3] for line in lines}


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        b"[]",
        b'{"metadata": {"name": "\\ud800"}}',
        b'{"metadata": []}',
        b'{"metadata": {"labels": [1], "ownerReferences": {"uid": 1}}, "status": {"conditions": 3}, "spec": []}',
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    ],
)
async def test_an_odd_object_does_not_cost_the_others(page: Page, encoded: bytes) -> None:
    position = page.history.add(0, "team-0", "odd", "ADDED", encoded)
    number = page.history.number(position)
    assert "odd" in (await page.get("/api/table?kind=0&sort=1"))["names"]
    assert (await page.get(f"/api/object?id={number}"))["name"] == "odd"
    assert len((await page.get("/api/tree"))["lines"]) >= 4
    assert (await page.get(f"/api/difference?from={position - 1}&to={position}"))["objects"][0]["type"] == "added"


async def test_differences_name_fields_and_managers(page: Page) -> None:
    first = page.history.latest
    second = change_pod(page.history, 3)
    [changed] = (await page.get(f"/api/difference?from={second}&to={first}"))["objects"]
    assert (changed["type"], changed["name"]) == ("changed", "pod-00003")
    assert ["status.phase", "Running", "Failed", ""] in changed["fields"]
    assert (await page.get(f"/api/change?position={second}"))["fields"] == changed["fields"]


async def test_values_of_secrets_never_leave(page: Page) -> None:
    from masthead._ui.history import HeldKind

    kind = page.history.add_kind(HeldKind("", "v1", "Secret", "secrets"))
    last_applied = "kubectl.kubernetes.io/last-applied-configuration"
    for value, operation in (("c2VjcmV0", "ADDED"), ("aGlkZGVu", "MODIFIED")):
        obj = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "s", "namespace": "a", "annotations": {last_applied: value}},
            "data": {"password": value},
            "stringData": {"other": value},
        }
        position = page.history.add(kind, "a", "s", operation, msgspec.json.encode(obj))  # type: ignore[arg-type]
    number = page.history.number(position)
    targets = [
        f"/api/object?id={number}&whole=1",
        f"/api/change?position={position}",
        f"/api/difference?from={position - 1}&to={position}",
        f"/api/table?kind={kind}&sort=1",
    ]
    bodies = b"".join([(await page.ask(target)).body for target in targets])
    assert b"(6 bytes)" in bodies
    assert b"data[password]" in bodies or b"data.password" in bodies
    assert b"c2VjcmV0" not in bodies
    assert b"aGlkZGVu" not in bodies


async def test_the_axis_has_ticks_or_counts(page: Page) -> None:
    for number in range(10):
        change_pod(page.history, number)
    found = await page.get("/api/axis")
    assert len(found["ticks"]) == 10
    for number in range(2_100):
        change_pod(page.history, number % 300)
    many = await page.get("/api/axis?buckets=100")
    assert "ticks" not in many
    assert len(many["counts"]) == 100
    assert sum(many["counts"]) == many["count"] == 2_110
    narrow = await page.get(f"/api/axis?since={many['end'] - 50_000}&until={many['end']}")
    assert 0 < len(narrow["ticks"]) < 100


async def test_changes_are_streamed(page: Page) -> None:
    answer = await page.ask(f"/api/stream?since={page.history.latest}")
    assert answer.content_type == "text/event-stream"
    assert answer.stream is not None
    assert _news(await anext(answer.stream))["changes"] == []
    position = change_pod(page.history, 5)
    [change] = _news(await anext(answer.stream))["changes"]
    assert (change[0], change[2:]) == (position, ["MODIFIED", page.history.number(position), 0])
    for number in range(1_100):
        change_pod(page.history, number % 300)
    assert _news(await anext(answer.stream))["isMany"] is True
    await answer.stream.aclose()


async def test_reconciles_are_streamed_although_they_change_nothing(page: Page) -> None:
    answer = await page.ask("/api/stream")
    assert answer.stream is not None
    assert _news(await anext(answer.stream))["reconciles"] == 0
    page.history.add_reconcile(Reconcile(time=page.history.end, controller="settings", name="a", began=1))
    news = _news(await anext(answer.stream))
    assert (news["reconciles"], news["changes"]) == (1, [])
    await answer.stream.aclose()
    [[number, *_, label]] = (await page.get("/api/axis"))["reconciles"]
    assert label == "settings a"
    # The line leaves out what is as usual; the page does not.
    assert (await page.get(f"/api/reconcile?number={number}"))["outcome"] == "done"
    assert (await page.ask("/api/reconcile?number=1")).status == HTTPStatus.NOT_FOUND


def _news(piece: bytes) -> Any:
    first, second = piece.decode().strip().split("\n")
    assert first == "event: changes"
    return msgspec.json.decode(second.removeprefix("data: "))


async def test_logs_are_streamed_line_by_line(page: Page) -> None:
    answer = await page.ask("/api/logs?id=0&container=main")
    assert answer.stream is not None
    pieces = [piece.decode() async for piece in answer.stream]
    assert pieces == [
        'event: line\ndata: "team-0/pod-00000/main"\n\n',
        'event: line\ndata: "<script>"\n\n',
        'event: end\ndata: "the log has ended"\n\n',
    ]


async def test_streams_are_bounded(page: Page) -> None:
    opened = [await page.ask("/api/stream") for _ in range(16)]
    # A stream counts from its first piece on.
    for each in opened:
        assert each.stream is not None
        await anext(each.stream)
    assert (await page.ask("/api/stream")).status == HTTPStatus.SERVICE_UNAVAILABLE
    for each in opened:
        assert each.stream is not None
        await each.stream.aclose()
    assert (await page.ask("/api/stream")).status == HTTPStatus.OK


async def test_the_address_has_the_token_in_its_fragment(page: Page) -> None:
    gate = Gate()
    async with serving(page.service, gate, host="127.0.0.1", port=0) as address:
        before, _, fragment = address.partition("#")
        assert fragment == f"token={gate.token}"
        assert str(gate.token) not in before
        port = int(before.rstrip("/").rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = (await reader.read()).decode()
        writer.close()
    assert answer.startswith("HTTP/1.1 200")
    assert "Cache-Control: no-store" in answer
    assert "X-Content-Type-Options: nosniff" in answer


def test_other_machines_are_let_in_only_if_that_is_meant() -> None:
    for host in ("127.0.0.1", "localhost", "::1"):
        check_host(host, allow_remote=False)
    for host in ("0.0.0.0", "", "ui.example"):
        with pytest.raises(ArgumentError, match="--allow-remote"):
            check_host(host, allow_remote=False)
        check_host(host, allow_remote=True)
