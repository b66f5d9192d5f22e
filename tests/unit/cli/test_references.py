"""How objects are named on the command line."""

from __future__ import annotations

import pytest

from masthead._cli.failures import CommandError
from masthead._cli.references import ObjectName, nearest, parse_references


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["pods"], [ObjectName("pods")]),
        (["pods", "web", "api"], [ObjectName("pods", ("web", "api"))]),
        (["pods,svc"], [ObjectName("pods"), ObjectName("svc")]),
        (["pods,svc", "web"], [ObjectName("pods", ("web",)), ObjectName("svc", ("web",))]),
        (["deploy/web", "svc/web"], [ObjectName("deploy", ("web",)), ObjectName("svc", ("web",))]),
        (["widgets.v1.example.com/a"], [ObjectName("widgets.v1.example.com", ("a",))]),
    ],
)
def test_kinds_and_names_are_told_apart(arguments: list[str], expected: list[ObjectName]) -> None:
    assert parse_references(arguments) == expected


@pytest.mark.parametrize("arguments", [[], ["pods,"], ["pods", "svc/web"], ["pods/"], ["/web"], ["a/b/c"]])
def test_what_is_incomplete_is_a_usage_error(arguments: list[str]) -> None:
    with pytest.raises(CommandError) as caught:
        parse_references(arguments)
    assert caught.value.code == 2


def test_the_nearest_name_is_suggested() -> None:
    assert nearest("defualt", ["default", "kube-system"]) == "did you mean default?"
    assert nearest("zzz", ["default"]) == ""
