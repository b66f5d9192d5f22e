"""``masthead run --ui``: the page of a running manager, on its debug port."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import subprocess
import sys
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.real_server import wait_until

import masthead
import masthead.aio
import masthead.server
from masthead._ui.manager_page import LiveManagerPage
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.config import from_kubeconfig
from masthead.errors import ConfigError
from masthead.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from masthead.config import Config

pytestmark = pytest.mark.slow

OFF: Any = {"probe_bind": "0", "metrics_bind": "0"}
PATIENCE = 60


@pytest.fixture(scope="module")
def config() -> Iterator[Config]:
    with masthead.server.run(bootstrap=False) as server:
        yield from_kubeconfig(server.kubeconfig())


@pytest.fixture
def client(config: Config) -> Iterator[masthead.Client]:
    with masthead.Client(config, field_manager="test") as client:
        yield client
        for kind in (client.core_v1.config_maps("default"), client.core_v1.secrets("default")):
            kind.delete_collection()


def secrets_operator() -> masthead.Manager:
    app = masthead.Manager("shown")

    @app.controller(ConfigMap, name="settings", owns=[Secret])
    def reconcile(ctx: masthead.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        ctx.apply(Secret.new("out", string_data=obj.data))

    return app


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110 - the page tells nobody
            await asyncio.sleep(0.01)


class Page:
    """Asks as the page does."""

    def __init__(self, log: pytest.LogCaptureFixture) -> None:
        found = [re.search(r"http://\S+", line) for line in log.messages if "#token=" in line]
        assert len(found) == 1
        assert found[0] is not None
        self.address, _, self.token = found[0][0].partition("/#token=")
        self.session = ""

    def ask(self, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Any:
        sent = {**({"Authorization": f"Bearer {self.session}"} if self.session else {}), **(headers or {})}
        with urlopen(Request(f"{self.address}{path}", data=body, headers=sent), timeout=30) as response:
            return response.read()

    def open(self) -> Page:
        self.session = json.loads(self.ask("/session", json.dumps({"token": self.token}).encode()))["session"]
        return self

    def get(self, path: str) -> Any:
        return json.loads(self.ask(path))

    def refusal(self, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> int:
        with pytest.raises(HTTPError) as caught:
            self.ask(path, body, headers)
        with caught.value as error:
            return error.code

    def reconciles(self) -> list[dict[str, Any]]:
        """What a click on each reconcile of the axis shows."""
        return [self.get(f"/api/reconcile?number={each[0]}") for each in self.get("/api/axis")["reconciles"]]


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "masthead")
    return caplog


def test_the_page_shows_caches_and_reconciles(
    client: masthead.Client, config: Config, log: pytest.LogCaptureFixture
) -> None:
    maps = client.core_v1.config_maps("default")
    maps.apply(ConfigMap.new("a", data={"value": "1"}))
    with secrets_operator().running_in_thread(config, ui=True, **OFF) as runtime:
        page = Page(log).open()
        assert page.address == f"http://127.0.0.1:{runtime.probes.debug_port}"
        assert wait_until(lambda: page.get("/api/hello")["status"] == {"error": "", "loading": 0}, within=PATIENCE)
        kinds = {kind["kind"]: kind["number"] for kind in page.get("/api/hello")["kinds"]}
        assert set(kinds) == {"ConfigMap", "Secret"}
        assert wait_until(lambda: page.reconciles() != [], within=PATIENCE)
        maps.apply(ConfigMap.new("a", data={"value": "2"}))

        def changed() -> list[dict[str, Any]]:
            triggers = [(each, each["trigger"]) for each in page.reconciles()]
            # The Secret's own change has the same field.
            return [
                each
                for each, trigger in triggers
                if (trigger.get("kind"), trigger.get("fields")) == ("ConfigMap", ["data.value"])
            ]

        assert wait_until(lambda: changed() != [], within=PATIENCE)
        (found,) = changed()
        assert (found["controller"], found["name"], found["outcome"]) == ("settings", "a", "done")
        assert (found["trigger"]["kind"], found["trigger"]["op"]) == ("ConfigMap", "MODIFIED")
        (write,) = found["writes"]
        assert (write["verb"], write["kind"], write["name"], write["code"]) == ("apply", "Secret", "out", 200)
        # The caches hear of the write after the reconcile.
        table = f"/api/table?kind={kinds['Secret']}"
        assert wait_until(lambda: page.get(table)["names"] == ["out"], within=PATIENCE)
        assert wait_until(lambda: len(page.get("/api/axis")["ticks"]) >= 3, within=PATIENCE)


def test_the_page_asks_for_token_host_and_origin(config: Config, log: pytest.LogCaptureFixture) -> None:
    with secrets_operator().running_in_thread(config, ui=True, **OFF):
        page = Page(log)
        assert b"<html" in page.ask("/")
        assert page.refusal("/api/hello") == HTTPStatus.UNAUTHORIZED
        assert page.refusal("/", headers={"Host": "evil.example"}) == HTTPStatus.MISDIRECTED_REQUEST
        assert page.refusal("/", headers={"Origin": "http://evil.example"}) == HTTPStatus.FORBIDDEN
        assert page.refusal("/session", b'{"token": "wrong"}') == HTTPStatus.FORBIDDEN
        page.open()
        assert page.get("/api/hello")["title"] == "shown"
        assert page.refusal("/session", json.dumps({"token": page.token}).encode()) == HTTPStatus.FORBIDDEN
        assert b"masthead manager shown" in page.ask("/debug/tasks")
        assert page.refusal("/debug", b"{}") == HTTPStatus.METHOD_NOT_ALLOWED
    assert sum(page.token in message for message in log.messages) == 1


def test_a_recording_has_the_same_reconciles(
    client: masthead.Client, config: Config, log: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    client.core_v1.config_maps("default").apply(ConfigMap.new("a", data={"value": "1"}))
    path = tmp_path / "manager.mhr"
    with secrets_operator().running_in_thread(config, ui=True, record=str(path), **OFF) as runtime:
        page = Page(log).open()
        assert wait_until(lambda: page.reconciles() != [] and runtime.is_idle, within=PATIENCE)
        shown = page.reconciles()
    with Recording(path) as recording:
        recorded = list(recording.reconciles())
    assert [each.id for each in recorded][: len(shown)] == [each["id"] for each in shown]
    assert [list(each.writes) for each in recorded][: len(shown)] == [each.get("writes", []) for each in shown]


async def test_informers_of_one_kind_share_its_objects(config: Config, client: masthead.Client) -> None:
    maps = client.core_v1.config_maps("default")
    for name, app in (("a", "web"), ("b", "web"), ("c", "other")):
        maps.apply(ConfigMap.new(name, labels={"app": app}))

    def change() -> ConfigMap:
        maps.delete("c")
        return maps.apply(ConfigMap.new("a", labels={"app": "other"}))

    async with masthead.aio.Client(config) as own:
        factory = masthead.aio.SharedInformerFactory(own)
        everything = factory.informer(ConfigMap)
        page = LiveManagerPage("shown", own, factory, "127.0.0.1")
        history = page._history
        async with factory, page.following():
            await everything.wait_for_cache_sync(handlers=True)
            await until(lambda: len(history.present(history.latest)) == 3)
            # Created later, it shows nothing that is not on the page already.
            chosen = factory.informer(ConfigMap, label_selector="app=web")
            await until(lambda: len(page._informers) == 2)
            latest = await asyncio.to_thread(change)
            await everything.wait_for_version(latest)
            await until(lambda: chosen.indexer.get_by_key("default/a") is None)
            # Both changes: handlers of several informers run at their own speed.
            await until(lambda: len(history.ticks[0]) >= 2)
            assert len(history.present(history.latest)) == 2
    assert [kind.kind for kind in history.kinds] == ["ConfigMap"]
    operations = [(history.version(at).operation, history.key(history.number(at))) for at in history.ticks[0]]
    assert [(operation, key and key.name) for operation, key in operations] == [("DELETED", "c"), ("MODIFIED", "a")]


WIDGETS: Any = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.shop.example"},
    "spec": {
        "group": "shop.example",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
            }
        ],
    },
}


async def test_custom_resources_have_the_columns_of_their_definition(config: Config) -> None:
    async with masthead.aio.Client(config, field_manager="test") as own:
        await own.dynamic("apiextensions.k8s.io/v1", "customresourcedefinitions").create(WIDGETS)
        widgets = own.dynamic("shop.example/v1", "widgets", namespace="default")
        factory = masthead.aio.SharedInformerFactory(own)
        informer = factory.dynamic("shop.example/v1", "widgets").informer
        page = LiveManagerPage("shown", own, factory, "127.0.0.1")
        async with factory, page.following():
            await informer.wait_for_cache_sync()
            await widgets.create(
                {"apiVersion": "shop.example/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
            )
            await until(lambda: len(page._history.present(page._history.latest)) == 1)
        assert [(kind.kind, kind.namespaced) for kind in page._history.kinds] == [("Widget", True)]
        printer = page._service.digests.printer(0, page._history.latest)
    assert [column.name for column in printer.columns] == ["Name", "Size"]


def test_it_is_off_by_default(config: Config, log: pytest.LogCaptureFixture) -> None:
    with secrets_operator().running_in_thread(config, debug_bind="127.0.0.1:0", **OFF) as runtime:
        with pytest.raises(HTTPError) as caught:
            urlopen(f"http://127.0.0.1:{runtime.probes.debug_port}/api/hello", timeout=30)
        with caught.value as error:
            assert error.code == HTTPStatus.NOT_FOUND
    assert not any("token" in message for message in log.messages)


@pytest.mark.parametrize("address", [":6060", "0.0.0.0:0"])
def test_other_machines_do_not_reach_it(config: Config, address: str) -> None:
    running = secrets_operator().running_in_thread(config, ui=True, debug_bind=address, **OFF)
    with pytest.raises(ConfigError, match=re.escape(address)), running:
        pass


def test_a_manager_without_it_imports_nothing_of_it() -> None:
    program = """
import sys
import masthead
import masthead.server
from masthead.api.core.v1 import ConfigMap

app = masthead.Manager("plain")
app.controller(ConfigMap)(lambda ctx, obj: None)
with masthead.server.run(bootstrap=False) as server:
    config = masthead.config.from_kubeconfig(server.kubeconfig())
    with app.running_in_thread(config, probe_bind="0", metrics_bind="0", debug_bind="127.0.0.1:0"):
        print(sorted(name for name in sys.modules if name.startswith("masthead._ui")))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout == "[]\n", ran.stderr
