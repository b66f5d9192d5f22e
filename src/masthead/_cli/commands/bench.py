"""``masthead bench``: how quickly a cluster answers, and what an informer of a kind takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from masthead._cli.completion import complete_references
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, to_seconds
from masthead._cli.terminal import write

if TYPE_CHECKING:
    from masthead._cache.options import Hold
    from masthead._cli.references import Selected
    from masthead._cli.shared_options import State

__all__ = ["command"]


@cluster_command("bench", all_namespaces=True)
@click.argument("kind", default="pods", shell_complete=complete_references)
@click.option("--samples", type=click.IntRange(1, 10_000), default=20, help="how often each call is made (20)")
@click.option(
    "--hold",
    type=click.Choice(["lazy", "eager", "compact"]),
    default="lazy",
    help="how the informer stores objects (lazy)",
)
@click.option(
    "--write",
    "writes",
    is_flag=True,
    help="also create, change and delete a ConfigMap, to see how soon changes arrive",
)
@click.option("--timeout", default="5m", callback=to_seconds, help="how long syncing may take (5m)")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="text or json")
@click.pass_obj
def command(state: State, kind: str, samples: int, hold: Hold, writes: bool, timeout: float, output: str) -> None:
    """Measure a cluster: how quickly it answers, and what an informer takes.

    \b
    masthead bench                    pods of the namespace
    masthead bench deploy -A          deployments of all namespaces
    masthead bench pods -A --write    and how soon a change arrives

    Only --write changes something: it creates a ConfigMap, and deletes it afterwards.
    """
    import json

    from masthead._cli.bench import BenchPlan, Meter, measure
    from masthead._cli.bench_report import as_data, render
    from masthead._cli.progress import Work
    from masthead._cli.references import parse_references, refuse_missing_namespace, resolve

    if timeout <= 0:
        raise CommandError("--timeout must be more than 0", code=ExitCode.USAGE)
    plan = BenchPlan(samples, hold, writes, timeout)
    with state.connect() as client:
        selected = _one(resolve(client, state, parse_references([kind])))
        if selected.namespace is not None:
            refuse_missing_namespace(client, selected.namespace)
        with Work("measuring", no_color=state.no_color) as work:
            report = measure(client, selected, plan, Meter(), work.detail)
    write(f"{json.dumps(as_data(report), indent=2)}\n" if output == "json" else render(report))


def _one(found: list[Selected]) -> Selected:
    if len(found) != 1 or found[0].names:
        raise CommandError(
            "name one kind, not several, and no objects", hint="masthead bench pods", code=ExitCode.USAGE
        )
    return found[0]
