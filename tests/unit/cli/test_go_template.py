"""Go templates: what kubectl prints, errors with their place, and bounds."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.kubectl import KUBECTL, needs_current_kubectl

from masthead._cli.go_format import format_value
from masthead._cli.go_template import GoTemplate, GoTemplateError

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("go_templates.json").read_text("utf-8"))
TEMPLATES: list[tuple[str, str | None]] = [(template, printed) for template, printed in RECORDED["templates"]]


def render(template: str, data: object = RECORDED["object"]) -> str | None:
    """What a template prints; None if it is refused."""
    try:
        return GoTemplate.parse(template).render(data)
    except GoTemplateError:
        return None


@pytest.mark.parametrize(("template", "printed"), TEMPLATES)
def test_a_template_prints_what_kubectl_prints(template: str, printed: str | None) -> None:
    assert render(template) == printed


@pytest.mark.slow
@needs_current_kubectl
def test_the_records_are_those_of_kubectl(tmp_path: Path) -> None:
    (tmp_path / "thing.json").write_text(json.dumps(RECORDED["object"]), "utf-8")
    # Without a server: a label that is there already.
    local = [str(KUBECTL), "label", "--local", "--overwrite", "-f", str(tmp_path / "thing.json"), "app=web"]

    for template, printed in TEMPLATES:
        ran = subprocess.run(
            [*local, "-o", f"go-template={template}"], capture_output=True, text=True, check=False, timeout=60
        )
        assert (template, ran.stdout if ran.returncode == 0 else None) == (template, printed)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{.x", "line 1, column 1: an action is not closed"),
        ('a\nb{{"x}}', "line 2, column 4: a string is not closed"),
        ("{{nofunc 1}}", "line 1, column 3: there is no function nofunc"),
        ("{{if .a}}x", "line 1, column 11: an end is missing"),
        ("{{end}}", "line 1, column 3: unexpected end"),
        ("{{$x}}", "line 1, column 3: the variable $x is not set"),
        ("{{.a | 3}}", "line 1, column 8: a literal cannot get the result of a pipeline"),
        ("{{break}}", "line 1, column 3: break outside of range"),
        ("{{1i}}", "line 1, column 3: 1i is not a number"),
        ("\n\n  {{index .spec.list 9}}", "line 3, column 5: error calling index: index out of range: 9"),
        ("{{.kind.x}}", "line 1, column 3: can't evaluate field x in type string"),
        ('{{template "nope"}}', 'line 1, column 3: there is no template "nope"'),
        ("{{len 1 2}}", "line 1, column 3: wrong number of args for len: want 1 got 2"),
    ],
)
def test_errors_say_where_and_what(template: str, said: str) -> None:
    with pytest.raises(GoTemplateError) as caught:
        GoTemplate.parse(template).render(RECORDED["object"])
    assert str(caught.value) == said


def test_missing_fields_may_be_errors() -> None:
    with pytest.raises(GoTemplateError, match='map has no entry for key "nope"'):
        GoTemplate.parse("{{.nope}}", allows_missing=False).render({})
    with pytest.raises(GoTemplateError, match='map has no entry for key "nope"'):
        GoTemplate.parse("{{.nope.deeper}}", allows_missing=False).render({})
    assert GoTemplate.parse("{{.a}}", allows_missing=False).render({"a": 1}) == "1"


BIG = {"text": "x" * 1_000_000, "other": "y" * 1_000_000, "list": list(range(10_000)), "map": {"a": 1}}


@pytest.mark.slow
@pytest.mark.parametrize(
    "template",
    [
        "{{range 9000000000000000000}}{{end}}",
        "{{range .list}}{{range $.list}}{{.}}{{end}}{{end}}",
        '{{$x := "aaaa"}}{{range 100}}{{$x = print $x $x}}{{end}}',
        '{{$x := "aaaa"}}{{range 100}}{{$x = printf "%s%s" $x $x}}{{end}}',
        "{{range 5000000}}{{eq $.text $.other}}{{end}}",
        "{{range 5000000}}{{len $.text}}{{end}}",
        "{{print " + ".text " * 1000 + "}}",
        '{{printf "%999999d" 1}}' * 300,
        '{{printf "%*d" 1000000 1}}' * 300,
        '{{printf "%.999999f" 1.5}}' * 300,
        '{{define "r"}}{{template "r" .}}{{end}}{{template "r"}}',
        '{{define "r"}}{{range 2}}{{template "r" .}}{{end}}{{end}}{{template "r"}}',
        "{{" + "(" * 100_000,
        "{{" + "(" * 1000 + "1" + ")" * 1000 + "}}",
        "{{if 1}}" * 100_000,
        "{{1" + "0" * 100_000 + "}}",
    ],
)
def test_no_template_takes_for_ever_or_all_memory(template: str) -> None:
    assert render(template, BIG) is None


def test_long_chains_are_not_deep() -> None:
    assert render("{{if 0}}a" + "{{else if 0}}b" * 5000 + "{{else}}c{{end}}", {}) == "c"
    assert render("{{1" + " | print" * 5000 + "}}", {}) == "1"


def test_deep_data_is_refused() -> None:
    deep: object = 1
    for _ in range(500):
        deep = {"a": deep}

    assert render("{{.}}", deep) is None
    assert render("{{.a.a | printf `%v`}}", deep) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(st.text(alphabet="{}.$|()\"`' -ab1:=,%/*\n", max_size=40), JSON)
def test_any_text_is_a_template_or_refused(template: str, data: object) -> None:
    render(template, data)
    render(f"{{{{{template}}}}}", data)


@given(st.text(alphabet="%vdsqxtfegT.*+-# 0123[]abc", max_size=12), st.lists(JSON, max_size=3))
def test_any_format_prints_something(form: str, values: list[object]) -> None:
    arguments = " ".join(f"(index . {at})" for at in range(len(values)))

    assert render(f"{{{{printf `{form}` {arguments}}}}}", values) is not None


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "<nil>"),
        (True, "true"),
        (1e21, "1e+21"),
        (1000000.0, "1e+06"),
        ({"b": [1, None], "a": {"x": "y"}}, "map[a:map[x:y] b:[1 <nil>]]"),
    ],
)
def test_values_are_shown_as_in_go(value: object, shown: str) -> None:
    assert format_value(value) == shown
