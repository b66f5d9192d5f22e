"""``masthead top``: the CPU and memory that pods and nodes use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from masthead._cli.command_groups import CommandGroup
from masthead._cli.completion import complete_nodes, complete_pods
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, shared_options, take_shared
from masthead._cli.terminal import write

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._cli.shared_options import State
    from masthead._cli.usage_tables import UsageOptions

__all__ = ["command"]

F = TypeVar("F", bound="Callable[..., Any]")
_ALIASES: Final = {"pod": "pods", "po": "pods", "node": "nodes", "no": "nodes"}


def _usage_options(function: F) -> F:
    """Add the options of both commands."""
    for option in (
        click.option("--show-swap", is_flag=True, help="with swap memory"),
        click.option("--no-headers", is_flag=True, help="no heading"),
        click.option("--sort-by", type=click.Choice(["cpu", "memory"]), help="the largest first (by name)"),
        click.option("-l", "--selector", metavar="SELECTOR", help="only objects with these labels"),
    ):
        function = option(function)
    return function


@cluster_command("pods", all_namespaces=True)
@click.argument("name", required=False, shell_complete=complete_pods)
@_usage_options
@click.option("--field-selector", metavar="SELECTOR", help="only pods with these fields")
@click.option("--containers", is_flag=True, help="a row for each container")
@click.option("--sum", "total", is_flag=True, help="the sums as last row")
@click.pass_obj
def pods(
    state: State,
    name: str | None,
    selector: str | None,
    field_selector: str | None,
    containers: bool,
    sort_by: str | None,
    total: bool,
    no_headers: bool,
    show_swap: bool,
) -> int:
    """Show the CPU and memory that pods use.

    \b
    masthead top pods -A --sort-by=memory
    masthead top pods -l app=web --containers
    masthead top pods web-1
    """
    from masthead._cli.fetching import ObjectSelection
    from masthead._cli.resource_metrics import MetricsReader
    from masthead._cli.usage_tables import PodUsage, pod_table

    _refuse_name_and_selection(name, selector, field_selector)
    if name and state.all_namespaces:
        raise CommandError("a pod cannot be named in all namespaces; name one with -n", code=ExitCode.USAGE)
    with state.connect() as client:
        found = MetricsReader(client, state).read_pods(name, ObjectSelection(selector, field_selector))
        if not found:
            return ExitCode.OK
        options = _table_options(sort_by, no_headers=no_headers, show_swap=show_swap)
        usages = [PodUsage.of(metrics) for metrics in found]
        write(pod_table(usages, options, containers=containers, namespaces=state.all_namespaces, total=total))
    return ExitCode.OK


@cluster_command("nodes")
@click.argument("name", required=False, shell_complete=complete_nodes)
@_usage_options
@click.option("--show-capacity", is_flag=True, help="percentages of the capacity, not of what pods may use")
@click.pass_obj
def nodes(
    state: State,
    name: str | None,
    selector: str | None,
    sort_by: str | None,
    no_headers: bool,
    show_swap: bool,
    show_capacity: bool,
) -> int:
    """Show the CPU and memory that nodes use, and which part of what pods may use.

    \b
    masthead top nodes --sort-by=cpu
    masthead top nodes -l pool=blue --show-capacity
    """
    from masthead._cli.fetching import ObjectSelection
    from masthead._cli.resource_metrics import MetricsReader
    from masthead._cli.usage_tables import NodeUsage, node_table
    from masthead._meta.plain import part, text

    _refuse_name_and_selection(name, selector)
    with state.connect() as client:
        measured = MetricsReader(client, state).read_nodes(name, ObjectSelection(selector))
        by_name = {text(part(metrics, "metadata"), "name"): metrics for metrics in measured}
        resource = client.dynamic("v1", "Node")
        found = [resource.get(name)] if name else resource.list(label_selector=selector)
        usages = [
            NodeUsage.of(node.to_dict(), by_name.get(node.metadata.name), of_capacity=show_capacity) for node in found
        ]
        write(node_table(usages, _table_options(sort_by, no_headers=no_headers, show_swap=show_swap)))
    return ExitCode.OK


def _refuse_name_and_selection(name: str | None, *selectors: str | None) -> None:
    if name and any(selectors):
        raise CommandError("a selector and a name exclude each other", code=ExitCode.USAGE)


def _table_options(sort_by: str | None, *, no_headers: bool, show_swap: bool) -> UsageOptions:
    from masthead._cli.usage_tables import UsageOptions

    resources = ("cpu", "memory", "swap") if show_swap else ("cpu", "memory")
    return UsageOptions(resources, sort_by or "", headers=not no_headers)


class _UsageCommands(CommandGroup):
    """The commands, which kubectl's singular and short names mean as well."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, _ALIASES.get(cmd_name, cmd_name))


command = _UsageCommands(
    "top",
    commands={"pods": pods, "nodes": nodes},
    params=shared_options(),
    callback=take_shared,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Show the CPU and memory that pods and nodes use, as the API metrics.k8s.io has measured it.

    \b
    masthead top pods
    masthead top nodes
    """,
)
