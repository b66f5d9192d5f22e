"""A browser for the tests of the page."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from tests.ui.pages import LoopThread, recorded_page
from tests.ui.recorded_rollout import write_rollout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def loop_thread() -> Iterator[LoopThread]:
    """An event loop for servers."""
    with LoopThread() as running:
        yield running


# Not longer than these tests: playwright's event loop would be in the way of asynchronous ones.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser."""
    api: Any = pytest.importorskip("playwright.sync_api")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    with api.sync_playwright() as playwright:
        # Containers, in which tests often run, have no user namespaces for the sandbox.
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        try:
            launched = playwright.chromium.launch(executable_path=found, args=arguments)
        except api.Error as error:
            pytest.skip(
                f"no browser: install Chromium, or run playwright install chromium ({str(error).splitlines()[0]})"
            )
        yield launched
        launched.close()


class Problems(list[str]):
    """What a page has written to its console."""

    def watch(self, page: Any) -> None:
        """Collect the errors of a page."""
        page.on("console", lambda message: self.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.append(str(error)))


@pytest.fixture
def problems() -> Iterator[Problems]:
    """The errors in the console, of which there must be none."""
    found = Problems()
    yield found
    assert not found


@pytest.fixture
def page(browser: Any, problems: Problems) -> Iterator[Any]:
    """A page of a desktop."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    made = context.new_page()
    made.set_default_timeout(10_000)
    problems.watch(made)
    yield made
    context.close()


@pytest.fixture(scope="session")
def rollout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a rollout."""
    path = tmp_path_factory.mktemp("recordings") / "rollout.mhr"
    write_rollout(path)
    return path


@pytest.fixture
def recorded(rollout: Path, loop_thread: LoopThread, page: Any) -> Iterator[Any]:
    """The page of the recording, open in the browser."""
    with loop_thread.running(lambda: recorded_page(rollout)) as address:
        open_page(page, address)
        yield page
        page.goto("about:blank")


def open_page(page: Any, address: str) -> None:
    """Open the page, and wait until it is there."""
    page.goto(address)
    page.wait_for_selector("html[data-ready]", state="attached")
