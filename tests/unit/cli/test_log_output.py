"""Lines of logs, selectors of pods, and sizes for people."""

from __future__ import annotations

import pytest

from masthead._cli.log_output import LogFormat
from masthead._cli.pods import selector_of
from masthead._cli.sizes import human_size
from masthead._cli.terminal import render
from masthead.streams import LogLine

LINE = LogLine("shop", "web-1", "app", "GET /", "2026-03-01T12:00:00.000000001Z")


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (LogFormat(), "[web-1/app] GET /\n"),
        (LogFormat(namespaces=True), "[shop/web-1/app] GET /\n"),
        (LogFormat(prefix=False), "GET /\n"),
        (LogFormat(prefix=False, timestamps=True), "2026-03-01T12:00:00.000000001Z GET /\n"),
    ],
)
def test_a_line_is_printed_as_asked_for(form: LogFormat, text: str) -> None:
    assert form.format(LINE) == text


def test_a_pod_keeps_its_colour() -> None:
    form = LogFormat(color=True)

    assert form.format(LINE) == form.format(LINE)
    assert render(form.format(LINE)).endswith("[web-1/app]\x1b[0m GET /\n")
    colours = {render(form.format(LogLine("shop", f"web-{at}", "app", "x")))[:5] for at in range(50)}
    assert len(colours) == 5


@pytest.mark.parametrize(
    ("spec", "selector"),
    [
        ({"selector": {"matchLabels": {"app": "web"}}}, "app=web"),
        ({"selector": {"app": "web", "tier": "front"}}, "app=web,tier=front"),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y"]}]}},
            "a in (x,y)",
        ),
        ({}, ""),
        ({"selector": None}, ""),
    ],
)
def test_workloads_and_services_select_pods(spec: dict[str, object], selector: str) -> None:
    assert selector_of({"spec": spec}) == selector


def test_sizes_have_three_figures_at_most() -> None:
    shown = [human_size(size) for size in (0, 512, 1536, 20 * 1024**2, 3 * 1024**3, 5 * 1024**4)]

    assert shown == ["0 B", "512 B", "1.5 KiB", "20 MiB", "3.0 GiB", "5.0 TiB"]


def test_a_terminal_gets_the_colours_of_a_log_and_no_other_escapes() -> None:
    line = LogLine("shop", "web-1", "app", "\x1b[31mred\x1b[2J\x1b]0;owned\x07\r")

    shown = render(LogFormat(prefix=False, color=True, is_terminal=True).format(line))
    plain = render(LogFormat(prefix=False, is_terminal=True).format(line))

    assert shown == "\x1b[31mred^[[2J^[]0;owned^G\x1b[0m\n"
    assert plain == "red^[[2J^[]0;owned^G\n"


def test_a_program_gets_a_log_as_it_is() -> None:
    line = LogLine("shop", "web-1", "app", "\x1b[31mred\r")

    assert LogFormat(prefix=False).format(line) == "\x1b[31mred\r\n"
