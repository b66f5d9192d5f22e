"""The rules for names, against what the API server's own validation answered."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masthead._meta import names
from masthead.errors import ArgumentError, NameFormatError

if TYPE_CHECKING:
    from collections.abc import Callable

VECTORS: dict[str, Any] = json.loads(Path(__file__).with_name("selector_vectors.json").read_text("utf-8"))

# In the order of the recorded bits.
PROBLEMS: list[Callable[[str], str | None]] = [
    names.problem_with_dns1123_label,
    names.problem_with_dns1123_subdomain,
    names.problem_with_dns1035_label,
    names.problem_with_qualified_name,
    names.problem_with_label_value,
    names.problem_with_path_segment_name,
]
CHECKS: list[Callable[[str], None]] = [
    names.check_dns1123_label,
    names.check_dns1123_subdomain,
    names.check_dns1035_label,
    names.check_qualified_name,
    names.check_label_value,
    names.check_path_segment_name,
]

lower_names = st.text(string.ascii_lowercase + string.digits + "-.", max_size=70)


def refuses(check: Callable[[str], None], value: str) -> bool:
    try:
        check(value)
    except NameFormatError:
        return True
    return False


def test_every_recorded_name_is_judged_as_the_server_judges_it() -> None:
    differing = [
        (value, problem_with.__name__)
        for value, accepted in VECTORS["names"]
        for bit, problem_with in enumerate(PROBLEMS)
        if (problem_with(value) is None) != bool(accepted >> bit & 1)
    ]

    assert differing == []


@given(st.text(max_size=80) | lower_names)
@settings(deadline=None)
def test_a_check_raises_exactly_when_there_is_a_problem(value: str) -> None:
    for check, problem_with in zip(CHECKS, PROBLEMS, strict=True):
        assert refuses(check, value) == (problem_with(value) is not None)


@given(lower_names)
@settings(deadline=None)
def test_every_1035_label_is_a_1123_label_and_every_label_a_subdomain(value: str) -> None:
    as_1035, as_1123, as_subdomain = (
        problem_with(value) is None
        for problem_with in (
            names.problem_with_dns1035_label,
            names.problem_with_dns1123_label,
            names.problem_with_dns1123_subdomain,
        )
    )

    assert as_1035 <= as_1123 <= as_subdomain


@given(st.lists(st.sampled_from(["a", "0", "a-b", "x--9", "web"]), min_size=1, max_size=20))
@settings(deadline=None)
def test_labels_joined_by_dots_are_a_subdomain(parts: list[str]) -> None:
    names.check_dns1123_subdomain(".".join(parts))


@pytest.mark.parametrize(
    ("problem_with", "limit"),
    [
        (names.problem_with_dns1123_label, 63),
        (names.problem_with_dns1123_subdomain, 253),
        (names.problem_with_dns1035_label, 63),
        (names.problem_with_qualified_name, 63),
        (names.problem_with_label_value, 63),
    ],
)
def test_a_name_may_be_as_long_as_the_limit_and_no_longer(
    problem_with: Callable[[str], str | None], limit: int
) -> None:
    assert problem_with("a" * limit) is None
    assert problem_with("a" * (limit + 1)) == f"must have at most {limit} characters, and has {limit + 1}"


def test_the_prefix_of_a_key_has_a_limit_of_its_own() -> None:
    assert names.problem_with_qualified_name(f"{'p' * 253}/{'n' * 63}") is None
    assert "prefix" in (names.problem_with_qualified_name(f"{'p' * 254}/n") or "")
    assert "name after '/'" in (names.problem_with_qualified_name(f"p/{'n' * 64}") or "")


def test_the_prefix_of_an_annotation_key_may_be_lowered_first() -> None:
    assert names.problem_with_qualified_name("Example.com/App") is not None
    assert names.problem_with_qualified_name("Example.com/App".lower()) is None


@pytest.mark.parametrize("check", CHECKS[:5])
def test_a_line_end_after_a_name_is_not_overlooked(check: Callable[[str], None]) -> None:
    with pytest.raises(NameFormatError):
        check("web\n")


@pytest.mark.parametrize("check", CHECKS)
def test_a_long_value_made_to_trip_the_patterns_is_refused(check: Callable[[str], None]) -> None:
    for value in ("a" * 1_000_000 + "%", "a-" * 500_000 + "%", "a." * 500_000 + "%", "/" * 1_000_000):
        with pytest.raises(NameFormatError):
            check(value)


def test_a_subdomain_within_the_limit_gives_the_pattern_nothing_to_backtrack_over() -> None:
    for value in ("a" * 252 + "_", "a-" * 126, "a." * 126, "-" * 253, "a" + "-" * 252):
        assert names.problem_with_dns1123_subdomain(value) is not None


def test_an_error_names_the_value_the_rule_and_a_right_form() -> None:
    with pytest.raises(NameFormatError) as caught:
        names.check_dns1123_label("My_Pod")

    assert str(caught.value) == (
        "'My_Pod' is not a DNS label (RFC 1123): may hold only a-z, 0-9 and '-', and must begin and end with a "
        "letter or digit. A right one is 'web-1'."
    )
    assert caught.value.value == "My_Pod"
    assert isinstance(caught.value, ArgumentError)


def test_an_error_mentions_that_a_name_is_empty() -> None:
    with pytest.raises(NameFormatError, match="'' is not a qualified name: must not be empty"):
        names.check_qualified_name("")


def test_an_error_shortens_a_very_long_value() -> None:
    with pytest.raises(NameFormatError) as caught:
        names.check_label_value("v" * 10_000)

    assert len(str(caught.value)) < 300
    assert "(10000 characters)" in str(caught.value)
    assert caught.value.value == "v" * 10_000


def test_each_error_s_own_example_is_right() -> None:
    for check in CHECKS:
        with pytest.raises(NameFormatError) as caught:
            check("%" if check is not names.check_path_segment_name else "..")

        check(str(caught.value).rpartition("A right one is ")[2].strip("'."))


def test_a_path_segment_may_be_empty_as_the_server_has_it() -> None:
    names.check_path_segment_name("")
    names.check_path_segment_name("system:node")
