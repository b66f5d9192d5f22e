"""The pictures of the documentation: the moments of a recording, and their animation."""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree

import pytest

if sys.platform == "win32":
    pytest.skip("recordings need a pseudo-terminal", allow_module_level=True)

pytest.importorskip("rich")

from tools.animated_picture import Frame, animate
from tools.pictures import Shot, animated, choose_moments, picture

SHOT = Shot(["demo"], rows=3, columns=20)


def test_a_chapter_is_shown_with_its_fault_in_effect_and_at_its_end() -> None:
    frames = ["Chapter 1", "Chapter 1: recovering a", "Chapter 1: recovering b", "Chapter 1 x", "Chapter 2", "the end"]

    assert choose_moments(frames) == ["Chapter 1: recovering b", "Chapter 1 x", "Chapter 2", "the end"]


def visible_at(svg: str, percent: float) -> list[str]:
    """The texts that a viewer shows at a moment."""
    keyframes = dict(re.findall(r"@keyframes (\S+) \{ (.*) \}", svg))
    root = ElementTree.fromstring(svg)
    found: list[str] = []
    for group in root.iter("{http://www.w3.org/2000/svg}g"):
        steps = re.findall(r"([\d.]+)%\{visibility:(\w+)\}", keyframes.get(group.get("class", ""), ""))
        state = [shown for begin, shown in steps if float(begin) <= percent]
        if "matrix" in group.get("class", "") or state[-1:] == ["visible"]:
            found += [text.text or "" for text in group.findall("{http://www.w3.org/2000/svg}text")]
    return found


def test_each_frame_is_visible_in_its_time_and_what_stays_is_written_once() -> None:
    svg = animated(["same\none", "same\ntwo", "same\n\x1b[1mtwo"], name="x", title="t", shot=SHOT)

    assert svg.count(">same<") == 1
    assert visible_at(svg, 0) == ["same", "one"]
    assert visible_at(svg, 25) == ["same", "two"]
    assert visible_at(svg, 60) == ["same", "two"]
    assert svg.count(">two<") == 2  # once in bold


def test_viewers_without_animations_show_the_poster() -> None:
    frames = [Frame(picture(text, name="x", title="t", columns=20), 1.0) for text in ("one", "two")]
    svg = animate(frames, name="masthead-x", poster=1)

    still = dict(re.findall(r"\.(\S+) \{ visibility:(\w+); animation", svg))
    shown = {name: re.findall(rf'<g class="{name}"><text[^>]*>(\w+)<', svg) for name in still}
    assert {shown[name][0]: state for name, state in still.items()} == {"one": "hidden", "two": "visible"}
