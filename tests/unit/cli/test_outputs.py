"""The forms of ``-o``, templates, columns, order and colours."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._cli.durations import parse_duration
from masthead._cli.failures import CommandError
from masthead._cli.outputs import listed, parse_output
from masthead._cli.sorting import sort_key, sorted_by
from masthead._cli.tables import paint
from masthead._cli.terminal import render
from masthead._printers.status import status_style

POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "web", "labels": {"app.kubernetes.io/name": "shop"}},
    "spec": {"containers": [{"image": "nginx"}, {"image": "envoy"}], "replicas": 2},
}
LIST = listed([POD, {"metadata": {"name": "api"}, "spec": {}}])


@pytest.mark.parametrize(
    ("template", "data", "expected"),
    [
        ("{.metadata.name}", POD, "web"),
        (".metadata.name", POD, "web"),
        ("{.spec.containers[*].image}", POD, "nginx envoy"),
        ("{.spec.replicas}", POD, "2"),
        ("{.spec.containers[0]}", POD, '{"image":"nginx"}'),
        ("{.no.such.field}", POD, ""),
        ("name: {.metadata.name}!", POD, "name: web!"),
        (r"{.metadata.labels.app\.kubernetes\.io/name}", POD, "shop"),
        (r'{range .items[*]}{.metadata.name}{"\t"}{end}', LIST, "web\tapi\t"),
        (r"{range .items[*]}{range .spec.containers[*]}{.image}{'\n'}{end}{end}", LIST, "nginx\nenvoy\n"),
        ('{.items[?(@.metadata.name=="api")].metadata.name}', LIST, "api"),
        ("{.kind}", LIST, "List"),
    ],
)
def test_jsonpath_templates(template: str, data: dict[str, Any], expected: str) -> None:
    assert parse_output(f"jsonpath={template}").render(data) == expected


@pytest.mark.parametrize(
    "form",
    [
        "xml",
        "wide=1",
        "jsonpath",
        "jsonpath={.a",
        "jsonpath={range .a}",
        "jsonpath={end}",
        "custom-columns=A",
    ],
)
def test_other_forms_are_refused(form: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse_output(form)
    assert caught.value.code == 2


def test_custom_columns() -> None:
    shown = parse_output("custom-columns=NAME:.metadata.name,IMAGES:.spec.containers[*].image").render(LIST)

    assert shown == "NAME   IMAGES\nweb    nginx,envoy\napi    <none>\n"


def test_yaml_and_json_have_sorted_keys() -> None:
    assert parse_output("yaml").render({"b": 1, "a": {"d": 1, "c": [{"f": 1, "e": 2}]}}) == (
        "a:\n  c:\n  - e: 2\n    f: 1\n  d: 1\nb: 1\n"
    )
    assert list(json.loads(parse_output("json").render({"b": 1, "a": 2}))) == ["a", "b"]


@given(
    st.lists(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["1Gi", "500m", "web-10"])
    )
)
def test_values_of_any_types_can_be_sorted(values: list[object]) -> None:
    ordered = sorted_by(".v", [{"v": value} for value in values], lambda each: each)

    keys = [sort_key(each["v"]) for each in ordered]
    assert all(not later < earlier for earlier, later in pairwise(keys))


def test_numbers_in_names_and_quantities_count() -> None:
    assert sorted(["web-10", "web-2"], key=sort_key) == ["web-2", "web-10"]
    assert sorted(["1Gi", "500Mi"], key=sort_key) == ["500Mi", "1Gi"]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("Running", "green"),
        ("1/1", "green"),
        ("0/1", "yellow"),
        ("Ready,SchedulingDisabled", "yellow"),
        ("Init:CrashLoopBackOff", "red"),
        ("Init:0/1", "yellow"),
        ("ErrImagePull", "red"),
        ("NotReady", "red"),
        ("CrashLoopBackOff", "red"),
        ("10.0.0.1", ""),
    ],
)
def test_cells_are_coloured_by_what_they_say(cell: str, expected: str) -> None:
    assert status_style(cell) == expected


def test_colours_change_no_text() -> None:
    text = "NAME   READY   STATUS    AGE\nweb    1/1     Running   3s\napi    0/1     Error     3s"
    painted = render(paint(text))

    assert "\x1b[32mRunning\x1b[0m   3s" in painted
    assert "\x1b[31mError\x1b[0m     3s" in painted
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m"):
        painted = painted.replace(code, "")
    assert painted == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5s", 1.5), ("1m30s", 90), ("2h", 7200), ("-1s", -1), ("250ms", 0.25)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "1x", "1m30", "one", "1 m", "--1"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)
