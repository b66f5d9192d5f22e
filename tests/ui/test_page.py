"""The page in a browser: a recording, a live history, hostile text. ``make test-ui`` runs these tests."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.ui.conftest import open_page
from tests.ui.many_pods import change_pod, pod_history
from tests.ui.pages import history_page
from tests.ui.recorded_rollout import HOSTILE

from masthead._ui.sessions import Gate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path

    from tests.ui.conftest import Problems
    from tests.ui.pages import LoopThread

    from masthead._ui.live_history import LiveHistory

if not os.environ.get("MASTHEAD_UI_TESTS"):
    pytest.skip("the page is tested in a browser by make test-ui", allow_module_level=True)
api: Any = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: run make test-ui")
expect: Any = api.expect


VIOLATIONS = """async () => (await axe.run()).violations.map(
    (each) => [each.id, each.nodes.map((node) => node.html.slice(0, 160))]
)"""


def microseconds() -> int:
    return time.time_ns() // 1_000


class Live:
    """A connection without a cluster, with a log."""

    def __init__(self) -> None:
        self.error = ""

    def status(self) -> Mapping[str, object]:
        return {"error": self.error, "loading": 0}

    async def logs(self, namespace: str, name: str, container: str) -> AsyncIterator[str]:
        yield f"{namespace}/{name} {container}"
        yield HOSTILE


@pytest.fixture
def history() -> LiveHistory:
    return pod_history(300, microseconds)


@pytest.fixture
def live(history: LiveHistory, loop_thread: LoopThread, page: Any) -> Iterator[Any]:
    with loop_thread.running(lambda: history_page(history, Live())) as address:
        open_page(page, address)
        yield page
        page.goto("about:blank")


def choose_kind(page: Any, name: str) -> None:
    page.keyboard.press("g")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    expect(page.locator("dialog[open]")).to_have_count(0)


def click_axis(page: Any, share: float) -> None:
    box = page.locator("#axis").bounding_box()
    page.mouse.click(box["x"] + box["width"] * share, box["y"] + box["height"] * 0.6)


def cells(page: Any) -> Any:
    return page.locator("#table .space-of-rows .row:visible")


def test_a_recording_is_shown_as_a_tree_a_table_and_details(recorded: Any) -> None:
    expect(recorded.locator("#tree")).to_contain_text("Deployment web")
    expect(recorded.locator("#tree")).to_contain_text(re.compile("ReplicaSet web-"))
    expect(cells(recorded)).to_have_count(4)

    recorded.keyboard.press("j")

    expect(recorded.locator("#details .yaml")).to_contain_text("kind: Pod")


def test_the_time_axis_shows_earlier_moments(recorded: Any) -> None:
    expect(cells(recorded)).to_have_count(4)

    click_axis(recorded, 0.3)

    expect(cells(recorded)).to_have_count(0)
    expect(recorded.locator("#empty")).to_be_visible()
    expect(recorded.locator("#tree .row:visible", has_text="Pod web-")).to_have_count(0)

    recorded.keyboard.press(".")

    expect(cells(recorded)).to_have_count(4)


def test_dragging_the_axis_follows_the_pointer(recorded: Any) -> None:
    box = recorded.locator("#axis").bounding_box()
    middle = box["y"] + box["height"] * 0.6
    recorded.mouse.move(box["x"] + box["width"] * 0.95, middle)
    recorded.mouse.down()
    recorded.mouse.move(box["x"] + box["width"] * 0.3, middle, steps=20)
    expect(cells(recorded)).to_have_count(0)
    recorded.mouse.move(box["x"] + box["width"] * 0.97, middle, steps=20)
    recorded.mouse.up()
    expect(cells(recorded)).to_have_count(4)


def test_two_ticks_are_compared_with_their_field_managers(recorded: Any) -> None:
    click_axis(recorded, 0.2)
    recorded.keyboard.down("Shift")
    click_axis(recorded, 0.99)
    recorded.keyboard.up("Shift")

    found = recorded.locator("#details .difference")
    expect(found).to_contain_text("Deployment shop/web")
    expect(found).to_contain_text("Secret shop/login")
    expect(found).to_contain_text("(hidden)")
    expect(found).not_to_contain_text("b3RoZXItdmFsdWU=")

    recorded.keyboard.press("Escape")
    expect(found).to_have_count(0)


def test_the_history_of_an_object_names_who_changed_a_field(recorded: Any) -> None:
    choose_kind(recorded, "deploy")
    expect(cells(recorded)).to_have_count(1)
    recorded.keyboard.press("j")
    recorded.keyboard.press("s")
    # Each line loads its fields when it is opened.
    for line in recorded.locator("details.version .operation").all():
        line.click()
    fields = recorded.locator(".field", has_text="spec.template.spec.containers[name=main].image")
    expect(fields.locator("del")).to_have_text("nginx:1.27")
    expect(fields.locator("ins")).to_have_text("nginx:1.28")
    expect(fields.locator(".manager")).to_have_text("test")


def test_a_reconcile_shows_its_trigger_reads_writes_and_result(recorded: Any) -> None:
    box = recorded.locator("#axis").bounding_box()
    # The clocks of two rollouts differ: look for the reconcile along its lane.
    for share in range(300, 800, 4):
        recorded.mouse.click(box["x"] + box["width"] * share / 1000, box["y"] + 6)
        if recorded.locator("#details .reconcile").count():
            break
    found = recorded.locator("#details .reconcile")
    expect(found).to_contain_text("websites shop/web")
    expect(found).to_contain_text("MODIFIED Deployment shop/web")
    expect(found).to_contain_text("get Deployment shop/web from the cache")
    expect(found).to_contain_text("apply ConfigMap shop/web 200 version 9")


def test_values_of_secrets_are_not_shown(recorded: Any) -> None:
    choose_kind(recorded, "secrets")
    expect(cells(recorded)).to_have_count(1)
    recorded.keyboard.press("j")
    expect(recorded.locator("#details .yaml")).to_contain_text("password: (11 bytes)")


def test_hostile_text_stays_text(recorded: Any) -> None:
    choose_kind(recorded, "deploy")
    expect(cells(recorded)).to_have_count(1)
    recorded.keyboard.press("j")
    expect(recorded.locator("#details .yaml")).to_contain_text(HOSTILE)
    assert recorded.evaluate("() => window.hacked") is None
    assert recorded.locator("main img").count() == 0


def test_logs_are_followed_and_stay_text(live: Any) -> None:
    live.keyboard.press("j")
    live.keyboard.press("o")
    expect(live.locator(".log")).to_contain_text("team-0/pod-00000 main")
    expect(live.locator(".log")).to_contain_text(HOSTILE)
    assert live.evaluate("() => window.hacked") is None


def test_changes_of_a_live_cluster_appear(live: Any, history: LiveHistory, loop_thread: LoopThread) -> None:
    first = live.locator("#table .row", has_text="pod-00000")
    expect(first).to_contain_text("Running")

    loop_thread.call(lambda: change_pod(history, 0))

    expect(first).to_contain_text("Failed")
    loop_thread.call(lambda: change_pod(history, 0, "DELETED"))
    expect(first).to_have_count(0)
    expect(live.locator("#count")).to_have_text("299 objects")

    click_axis(live, 0.02)
    expect(first).to_contain_text("Running")


def test_a_filter_narrows_the_table(live: Any) -> None:
    live.keyboard.press("/")
    live.keyboard.type("app=app-7 -pod-00007")
    expect(live.locator("#count")).to_have_text("5 of 300")
    live.keyboard.press("Escape")
    expect(live.locator("#count")).to_have_text("300 objects")


def test_a_namespace_narrows_table_and_tree(live: Any) -> None:
    live.select_option("#namespace", "team-3")
    expect(live.locator("#count")).to_have_text("60 of 300")
    expect(live.locator("#table .head")).not_to_contain_text("NAMESPACE")


def test_a_column_sorts(live: Any, history: LiveHistory, loop_thread: LoopThread) -> None:
    loop_thread.call(lambda: change_pod(history, 299))
    live.locator(".sortable", has_text="STATUS").click()
    expect(cells(live).first).to_contain_text("pod-00299")
    live.locator(".sortable", has_text="STATUS").click()
    expect(cells(live).first).not_to_contain_text("pod-00299")


def test_the_keyboard_reaches_everything(live: Any) -> None:
    live.keyboard.press("?")
    expect(live.locator("#help")).to_be_visible()
    live.keyboard.press("Escape")
    choose_kind(live, "rs")
    expect(live.locator("#count")).to_have_text("3 objects")
    live.keyboard.press("j")
    live.keyboard.press("j")
    expect(live.locator("#details h2")).to_contain_text("set-1")
    live.keyboard.press("k")
    expect(live.locator("#details h2")).to_contain_text("set-0")
    live.keyboard.press("t")
    live.keyboard.press("Home")
    live.keyboard.press("j")
    expect(live.locator("#tree:focus")).to_have_count(1)


def test_20_000_objects_are_painted_at_once_and_scroll_without_blank_rows(loop_thread: LoopThread, page: Any) -> None:
    large = pod_history(20_000, microseconds)
    with loop_thread.running(lambda: history_page(large, Live())) as address:
        page.goto(address)
        page.wait_for_selector("#table .row:has-text('pod-00000')")
        # The browser's own clock: what the test process does in between does not count.
        painted = page.evaluate("() => performance.now()")
        # Three seconds on a busy machine: half of it is common on an idle one.
        assert painted < 3_000
        expect(page.locator("#count")).to_have_text("20,000 objects")
        blank, rows, elements = page.evaluate(
            """async () => {
                const table = document.querySelector("#table");
                let blank = 0, rows = 0;
                for (let at = 0; at < 150; at++) {
                    table.scrollTop += 3100;
                    await new Promise(requestAnimationFrame);
                    for (const row of table.querySelectorAll(".space-of-rows .row:not([hidden])")) {
                        rows++;
                        blank += !row.textContent.includes("pod-");
                    }
                }
                return [blank, rows, table.querySelectorAll(".row").length];
            }"""
        )
        assert rows > 1_000
        assert blank == 0
        assert elements < 200
        page.goto("about:blank")


def test_the_page_finds_the_server_again(loop_thread: LoopThread, page: Any, problems: Problems) -> None:
    history, gate = pod_history(10, microseconds), Gate()
    with loop_thread.running(lambda: history_page(history, Live(), gate=gate)) as address:
        open_page(page, address)
    expect(page.locator("#status")).to_contain_text("reconnecting")
    port = int(re.findall(r":(\d+)/", address)[0])
    loop_thread.call(lambda: change_pod(history, 0))
    with loop_thread.running(lambda: history_page(history, Live(), gate=gate, port=port)):
        expect(page.locator("#table .row", has_text="pod-00000")).to_contain_text("Failed")
        expect(page.locator("#status")).to_have_text("")
        page.goto("about:blank")
    # The browser itself notes requests that fail.
    assert all("Failed to load resource" in problem for problem in problems)
    problems.clear()


def test_the_page_of_another_server_says_what_to_do(loop_thread: LoopThread, page: Any, problems: Problems) -> None:
    history = pod_history(10, microseconds)
    with loop_thread.running(lambda: history_page(history, Live())) as address:
        open_page(page, address)
    port = int(re.findall(r":(\d+)/", address)[0])
    with loop_thread.running(lambda: history_page(history, Live(), port=port)):
        expect(page.locator("#closed")).to_contain_text("open the address that masthead has printed")
        page.goto("about:blank")
    problems.clear()


def test_a_reload_keeps_the_session_and_the_address_opens_one_only(
    loop_thread: LoopThread, page: Any, browser: Any
) -> None:
    history = pod_history(10, microseconds)
    with loop_thread.running(lambda: history_page(history, Live())) as address:
        open_page(page, address)
        assert "token" not in page.url
        page.reload()
        expect(page.locator("#count")).to_have_text("10 objects")
        other = browser.new_page()
        other.goto(address)
        expect(other.locator("#closed")).to_contain_text("opened already")
        other.close()
        page.goto("about:blank")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_works_at_360_pixels(recorded: Any, scheme: str) -> None:
    recorded.emulate_media(color_scheme=scheme)
    recorded.set_viewport_size({"width": 360, "height": 640})
    assert recorded.evaluate("() => document.documentElement.scrollWidth") <= 360
    recorded.locator("#tabs button", has_text="Owners").click()
    expect(recorded.locator("#tree .row", has_text="Deployment web")).to_be_visible()
    recorded.locator("#tabs button", has_text="Table").click()
    cells(recorded).first.click()
    expect(recorded.locator("#details .yaml")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(loop_thread: LoopThread, browser: Any, rollout: Path, scheme: str) -> None:
    from importlib.resources import files

    from tests.ui.pages import recorded_page

    pytest.importorskip("axe_playwright_python", reason="axe is not installed: run make test-ui")
    script = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    context = browser.new_context(bypass_csp=True, color_scheme=scheme, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    with loop_thread.running(lambda: recorded_page(rollout)) as address:
        open_page(page, address)
        expect(cells(page)).to_have_count(4)
        page.keyboard.press("j")
        expect(page.locator("#details .yaml")).to_be_visible()
        page.evaluate(script)
        found = page.evaluate(VIOLATIONS)
        context.close()
    assert found == []
