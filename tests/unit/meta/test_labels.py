"""Label selectors, against what apimachinery answered."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masthead._meta import labels
from masthead._meta.labels import Operator, Requirement, Selector
from masthead.errors import SelectorError

if TYPE_CHECKING:
    from collections.abc import Callable

VECTORS: dict[str, Any] = json.loads(Path(__file__).with_name("selector_vectors.json").read_text("utf-8"))

WITH_ONE = [Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.NOT_EQUALS]
WITH_SET = [Operator.IN, Operator.NOT_IN]
WITHOUT = [Operator.EXISTS, Operator.DOES_NOT_EXIST]
WITH_INTEGER = [Operator.GREATER_THAN, Operator.LESS_THAN]

keys = st.sampled_from(["app", "tier", "x", "in", "notin", "example.com/app"])
values = st.sampled_from(["", "a", "b", "in", "5", "-7", "007", "v_1.2-x"])
label_values = st.sampled_from(["", "a", "b", "in", "5", "007", "v_1.2-x"])
integers = st.integers(0, 2**63 - 1).map(str)
objects = st.dictionaries(keys, values, max_size=4)


def tuples(items: st.SearchStrategy[str], *, least: int, most: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(items, min_size=least, max_size=most, unique=True).map(tuple)


requirements = (
    st.builds(Requirement, keys, st.sampled_from(WITH_ONE), tuples(label_values, least=1, most=1))
    | st.builds(Requirement, keys, st.sampled_from(WITH_SET), tuples(label_values, least=1, most=4))
    | st.builds(Requirement, keys, st.sampled_from(WITHOUT))
    | st.builds(Requirement, keys, st.sampled_from(WITH_INTEGER), tuples(integers, least=1, most=1))
)
selectors = st.builds(Selector, st.lists(requirements, max_size=5).map(tuple))


@dataclass
class Expression:
    key: str
    operator: str
    values: list[str] = field(default_factory=list[str])


@dataclass
class ApiSelector:
    match_labels: dict[str, str] = field(default_factory=dict[str, str])
    match_expressions: list[Expression] = field(default_factory=list[Expression])


def answer(make: Callable[..., Requirement | Selector], *inputs: object) -> list[object]:
    """Format our result like a recorded one."""
    try:
        made = make(*inputs)
    except SelectorError:
        return [None]
    return [str(made), sum(1 << n for n, item in enumerate(VECTORS["label_sets"]) if made.matches(item))]


def test_every_recorded_selector_reads_as_in_apimachinery() -> None:
    differing = [text for text, *recorded in VECTORS["labels"] if answer(labels.parse, text) != recorded]

    assert differing == []


def test_every_recorded_requirement_is_made_or_refused_as_in_apimachinery() -> None:
    differing = [
        (key, sign, items)
        for key, sign, items, *recorded in VECTORS["requirements"]
        if answer(Requirement, key, Operator(sign), tuple(items)) != recorded
    ]

    assert differing == []


def test_every_recorded_api_selector_becomes_what_apimachinery_makes_of_it() -> None:
    differing = [
        (pairs, expressions)
        for pairs, expressions, *recorded in VECTORS["label_selectors"]
        if answer(labels.from_label_selector, ApiSelector(pairs, [Expression(*item) for item in expressions]))
        != recorded
    ]

    assert differing == []


def test_every_recorded_pair_combines_as_in_apimachinery() -> None:
    differing = [
        (one, other)
        for one, other, *recorded in VECTORS["combined"]
        if answer(Selector.__and__, labels.parse(one), labels.parse(other)) != recorded
    ]

    assert differing == []


@pytest.mark.slow
@given(selectors)
@settings(deadline=None)
def test_a_selector_survives_being_written_and_read(selector: Selector) -> None:
    again = labels.parse(str(selector))

    assert again == selector
    assert hash(again) == hash(selector)
    assert str(again) == str(selector)


@given(selectors, st.sampled_from(["", " ", "\t", "\r\n"]))
@settings(deadline=None)
def test_white_space_between_tokens_does_not_matter(selector: Selector, space: str) -> None:
    spread = str(selector)
    for sign in "(),":
        spread = spread.replace(sign, f"{space}{sign}{space}")

    assert labels.parse(f"{space}{spread}{space}") == selector


@given(selectors, objects)
@settings(deadline=None)
def test_a_selector_matches_when_each_of_its_requirements_does(selector: Selector, item: dict[str, str]) -> None:
    assert selector.matches(item) == all(requirement.matches(item) for requirement in selector.requirements)


@given(selectors, selectors, objects)
@settings(deadline=None)
def test_combined_selectors_select_what_both_select(one: Selector, other: Selector, item: dict[str, str]) -> None:
    assert (one & other).matches(item) == (one.matches(item) and other.matches(item))


@given(keys, st.lists(label_values, min_size=1, max_size=4).map(tuple), objects)
@settings(deadline=None)
def test_not_in_selects_exactly_what_in_leaves(key: str, items: tuple[str, ...], item: dict[str, str]) -> None:
    within, without = Requirement(key, Operator.IN, items), Requirement(key, Operator.NOT_IN, items)

    assert within.matches(item) != without.matches(item)


@given(st.integers(0, 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
@settings(deadline=None)
def test_an_integer_is_above_below_or_the_same(bound: int, number: int) -> None:
    item = {"x": str(number)}

    assert labels.parse(f"x>{bound}").matches(item) == (number > bound)
    assert labels.parse(f"x<{bound}").matches(item) == (number < bound)


@given(st.dictionaries(keys, label_values, max_size=4), objects)
@settings(deadline=None)
def test_a_mapping_selects_the_objects_that_contain_it(wanted: dict[str, str], item: dict[str, str]) -> None:
    assert labels.from_mapping(wanted).matches(item) == (wanted.items() <= item.items())


@given(st.text("ax-=!()<>, \t\0\\\u00e9", max_size=12) | st.text(max_size=12))
@settings(deadline=None)
def test_any_text_is_read_or_refused_as_a_selector_error(text: str) -> None:
    try:
        selector = labels.parse(text)
    except SelectorError as error:
        assert error.value == text  # noqa: PT017
    else:
        assert labels.parse(str(selector)) == selector


def test_a_missing_key_matches_not_in() -> None:
    assert labels.parse("app notin (web)").matches({})
    assert labels.parse("app!=web").matches({})
    assert labels.parse("!app").matches({})


def test_a_missing_key_matches_neither_in_nor_a_comparison() -> None:
    for text in ("app in (web)", "app=web", "app=", "app in ()", "app", "app>1", "app<1"):
        assert not labels.parse(text).matches({}), text


@pytest.mark.parametrize("text", ["five", "", " 5", "1_000", "\u0665", "5.0", "9223372036854775808", "9" * 5000])
def test_a_label_that_is_not_an_integer_is_neither_above_nor_below(text: str) -> None:
    assert not labels.parse("x>1").matches({"x": text})
    assert not labels.parse("x<1").matches({"x": text})


def test_an_integer_label_may_have_a_sign_and_any_number_of_zeros() -> None:
    assert labels.parse("x>4").matches({"x": "+5"})
    assert labels.parse("x<4").matches({"x": "-5"})
    assert labels.parse("x>4").matches({"x": "0" * 5000 + "5"})


@pytest.mark.parametrize("text", ["x in ()", "x in (,)", "x in ( , , )", "x=", "x==", "x in (,a)"])
def test_a_value_left_out_is_the_empty_value(text: str) -> None:
    assert labels.parse(text).matches({"x": ""})


def test_in_and_notin_are_also_keys_and_values() -> None:
    selector = labels.parse("in in (in,notin),notin=in")

    assert selector.matches({"in": "notin", "notin": "in"})
    assert not selector.matches({"in": "x", "notin": "in"})


def test_requirements_are_sorted_by_key_and_keep_their_order_within_one() -> None:
    # differs from client-go: with more than 12 requirements its order within a key is arbitrary.
    text = ",".join(f"{key}!={n}" for n in reversed(range(10)) for key in ("b", "a"))

    assert str(labels.parse(text)) == ",".join(f"{key}!={n}" for key in ("a", "b") for n in reversed(range(10)))


def test_the_order_in_which_values_were_given_does_not_matter() -> None:
    one, other = (Requirement("x", Operator.IN, items) for items in (("a", "b"), ("b", "a")))

    assert one == other
    assert hash(one) == hash(other)
    assert str(one) == "x in (a,b)"


def test_everything_is_empty_and_matches_all() -> None:
    assert labels.everything().is_empty
    assert labels.everything().matches({})
    assert str(labels.everything()) == ""
    assert labels.parse(" ") == labels.everything()
    assert labels.from_mapping({}) == labels.everything()
    assert not labels.parse("app").is_empty


def test_nothing_matches_no_object_and_is_not_empty() -> None:
    nothing = labels.nothing()

    assert nothing.matches_nothing
    assert not nothing.is_empty
    assert not nothing.matches({})
    assert not nothing.matches({"": "", "app": "web"})
    assert str(nothing) == ""
    assert nothing != labels.everything()


def test_nothing_stays_nothing_when_combined() -> None:
    web = labels.parse("app=web")

    assert labels.nothing() & web == labels.nothing()
    assert web & labels.nothing() == labels.nothing()
    assert Selector(web.requirements, matches_nothing=True) == labels.nothing()


def test_an_api_selector_left_out_selects_nothing_and_an_empty_one_everything() -> None:
    assert labels.from_label_selector(None) == labels.nothing()
    assert labels.from_label_selector(ApiSelector()) == labels.everything()


def test_an_api_selector_combines_its_labels_and_expressions() -> None:
    api = ApiSelector({"app": "web"}, [Expression("tier", "NotIn", ["b", "a"]), Expression("legacy", "DoesNotExist")])

    assert str(labels.from_label_selector(api)) == "app=web,!legacy,tier notin (a,b)"


def test_an_unknown_api_operator_is_refused_with_the_known_ones() -> None:
    api = ApiSelector(match_expressions=[Expression("tier", "in", ["a"])])

    with pytest.raises(SelectorError, match="'in' for the label 'tier' is unknown"):
        labels.from_label_selector(api)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("app in web", "position 7: expected '(' and a list of values, found 'web'"),
        ("app=web,,tier", "position 8: expected a label key, found ','"),
        ("app in (web", "position 11: expected ',' or ')', found the end"),
        ("app=web tier", "position 8: expected ',' or the end, found 'tier'"),
        ("app ~ web", "position 4: expected one of = == != in notin < >, found '~'"),
        ("app, _x=1", "position 5: the label key '_x' is not right"),
        ("app, x=1@2", "position 5: the value '1@2' for label 'x' is not right"),
        ("x>y", "position 0: the value 'y' for label 'x' is not right: '<' and '>' take an integer"),
    ],
)
def test_an_error_names_the_problem_its_position_and_a_valid_example(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        labels.parse(text)

    assert message in str(caught.value)
    assert caught.value.value == text
    example = str(caught.value).rpartition("Write it like ")[2].strip("'.")
    assert str(labels.parse(example)) == "app=web,!legacy,tier in (back,front)"


@pytest.mark.parametrize("text", ["\0", "app\0", "app=web\0", "app\0,tier", "app in (a\0)", "app=web,\0tier"])
def test_a_nul_is_refused(text: str) -> None:
    # differs from client-go: a NUL in front hides the rest there, and selects everything.
    with pytest.raises(SelectorError):
        labels.parse(text)


@pytest.mark.parametrize(
    ("sign", "items", "message"),
    [
        (Operator.IN, (), "takes one value or more after 'in', and has none"),
        (Operator.EXISTS, ("a",), "takes no value, and has 1"),
        (Operator.EQUALS, ("a", "b"), "takes one value after '=', and has 2"),
        (Operator.GREATER_THAN, (), "takes one value after '>', and has 0"),
        (Operator.LESS_THAN, ("a",), "take an integer"),
        ("like", ("a",), "'like' is not one of: = =="),
    ],
)
def test_a_requirement_with_the_wrong_values_is_refused(sign: Operator, items: tuple[str, ...], message: str) -> None:
    with pytest.raises(SelectorError, match=message):
        Requirement("app", sign, items)


def test_a_plain_string_does_for_an_operator() -> None:
    assert Requirement("app", Operator("in"), ("a",)) == Requirement("app", "in", ("a",))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_very_long_text_is_read_in_one_pass() -> None:
    assert len(labels.parse(",".join(f"a{n}" for n in range(2_000))).requirements) == 2_000
    for text in ("!" * 100_000, "(" * 100_000, "a" * 500_000, "a in (" + "," * 100_000, "=" * 100_000 + "a"):
        with pytest.raises(SelectorError) as caught:
            labels.parse(text)
        assert len(str(caught.value)) < 600


def test_a_selector_can_be_pickled_copied_and_used_as_a_key() -> None:
    selector = labels.parse("app=web,x>5,!legacy,tier notin (a,b)")

    for other in (pickle.loads(pickle.dumps(selector)), copy.deepcopy(selector)):
        assert other == selector
        assert {selector: 1}[other] == 1
        assert other.matches({"app": "web", "x": "6"})
        assert not other.matches({"app": "web", "x": "4"})


def test_a_label_selector_of_the_api_becomes_a_selector() -> None:
    from masthead._meta.v1 import LabelSelector

    selector = LabelSelector.from_dict(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
        }
    )

    assert str(labels.from_label_selector(selector)) == "app=web,tier in (a,b)"
    assert labels.from_label_selector(LabelSelector()).is_empty
    assert labels.from_label_selector(None).matches_nothing
