"""Takes the pictures of `masthead ui` in the documentation: ``python -m tools.page_pictures``.

It serves the recorded incident of ``examples/incident``, opens it in Chromium, and writes what the page shows as PNG to
``docs/assets``. The recording is always the same, so that the pictures are as well. It is run by hand when the page
looks different, and needs Chromium and playwright, which ``make test-ui`` installs.
"""

from __future__ import annotations

import asyncio
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from masthead._ui.recorded_history import RecordedHistory
from masthead._ui.server import serving
from masthead._ui.service import Service
from masthead._ui.sessions import Gate

ROOT: Final = Path(__file__).parents[1]
RECORDING: Final = ROOT / "examples" / "incident" / "incident.mhr"
ASSETS: Final = ROOT / "docs" / "assets"
WIDE: Final = {"width": 1360, "height": 800}
NARROW: Final = {"width": 360, "height": 740}


async def main() -> None:
    """Take all pictures."""
    # Not an import statement: playwright is not among the development tools.
    api: Any = import_module("playwright.async_api")
    history = RecordedHistory(RECORDING)
    try:
        async with api.async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=shutil.which("chromium"),
                args=["--no-sandbox"],
            )
            await _take(browser, history, "ui-dark.png", "dark", WIDE)
            await _take(browser, history, "ui-light.png", "light", WIDE)
            await _take(browser, history, "ui-narrow.png", "dark", NARROW)
            await browser.close()
    finally:
        history.close()


async def _take(browser: Any, history: RecordedHistory, name: str, scheme: str, size: dict[str, int]) -> None:
    """Open the page at the moment of the incident, and write a picture of it."""
    gate = Gate()
    async with serving(Service(history, gate, None, title=RECORDING.name), gate, host="127.0.0.1", port=0) as address:
        page = await browser.new_page(viewport=size, color_scheme=scheme)
        await page.goto(address)
        await page.wait_for_selector("#table .row")
        await _go_to_kind(page, "pods")
        await _go_to_incident(page)
        await page.locator("#table .row", has_text="ImagePull").first.click()
        await page.wait_for_selector("#details .yaml")
        await page.get_by_role("tab", name="History").click()
        await page.locator("#details summary", has_text="23:15:22").get_by_text("MODIFIED").click()
        # Drawn in the next frames.
        await page.wait_for_timeout(300)
        await page.screenshot(path=ASSETS / name)
        await page.close()


async def _go_to_kind(page: Any, kind: str) -> None:
    await page.keyboard.press("g")
    await page.keyboard.type(kind)
    await page.keyboard.press("Enter")
    await page.wait_for_selector("dialog[open]", state="detached")


async def _go_to_incident(page: Any) -> None:
    """Click the axis between the bad image and the first remedy."""
    box = await page.locator("#axis").bounding_box()
    await page.mouse.click(box["x"] + box["width"] * 0.36, box["y"] + box["height"] / 2)
    await page.wait_for_selector("#table .row:has-text('ImagePull')")


if __name__ == "__main__":
    asyncio.run(main())
