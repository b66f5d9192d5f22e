"""Arguments in kubectl's spelling, and groups of commands."""

from __future__ import annotations

import click
import pytest

from masthead._cli.command_groups import command_group
from masthead._cli.framework import cluster_command, shared_options, spell_as_click, switch_option


@cluster_command("probe")
@click.argument("names", nargs=-1)
@click.option("-o", "--output")
@click.option("--server", "address")
@click.option("-q", "--quiet", is_flag=True)
@switch_option("--embed", help_="embed")
def probe(**_: object) -> int:
    """Do nothing."""
    return 0


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("-o=json", ["-o", "json"]),
        ("-o=", ["-o", ""]),
        ("-o=jsonpath={.a==1}", ["-o", "jsonpath={.a==1}"]),
        ("-n=shop a", ["-n", "shop", "a"]),
        ("-q=x", ["-q=x"]),
        ("-x=y", ["-x=y"]),
        ("--output=json -ojson", ["--output=json", "-ojson"]),
        ("--embed name", ["--embed=true", "name"]),
        ("--embed=false", ["--embed=false"]),
        ("a -- --embed -o=json", ["a", "--", "--embed", "-o=json"]),
    ],
)
def test_arguments_may_be_spelled_as_for_kubectl(typed: str, written: list[str]) -> None:
    assert spell_as_click(probe.params, typed.split()) == written


def test_an_option_of_a_command_replaces_the_shared_one() -> None:
    names = [name for param in probe.params for name in param.opts]

    assert names.count("--server") == 1
    assert {name for option in shared_options() for name in option.opts} <= set(names)


def test_a_group_lists_its_commands_in_their_order() -> None:
    group = command_group("more", (probe,), help_="More.")

    assert group.list_commands(click.Context(group)) == ["probe"]
    assert group.get_help(click.Context(group, info_name="more")).startswith("usage: more COMMAND")
