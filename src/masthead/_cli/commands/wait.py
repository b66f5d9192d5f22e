"""``masthead wait``: waits until objects are as they should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from masthead._cli.completion import complete_conditions, complete_references
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, to_seconds
from masthead._cli.manifest_files import file_options, read_sources

if TYPE_CHECKING:
    from masthead._cli.shared_options import State

__all__ = ["command"]

_WAIT: Final = 30.0


@cluster_command("wait", all_namespaces=True)
@click.argument("references", nargs=-1, metavar="[KIND[/NAME] [NAME]...]", shell_complete=complete_references)
@file_options
@click.option(
    "--for",
    "conditions",
    multiple=True,
    default=("ready",),
    metavar="CONDITION",
    shell_complete=complete_conditions,
    help="ready (the default), delete, create, condition=NAME[=STATUS] or jsonpath={PATH}[=VALUE]; several must hold "
    "one after the other",
)
@click.option("-l", "--selector", metavar="SELECTOR", help="objects with these labels")
@click.option("--all", "is_all", is_flag=True, help="all objects of the kind")
@click.option(
    "--timeout",
    metavar="DURATION",
    callback=to_seconds,
    help="how long to wait (30s); 0: look once; -1: for ever",
)
@click.pass_obj
def command(
    state: State,
    references: tuple[str, ...],
    files: tuple[str, ...],
    kustomize: str | None,
    conditions: tuple[str, ...],
    selector: str | None,
    is_all: bool,
    timeout: float | None,
) -> int:
    """Wait until objects are ready, deleted, or meet a condition.

    "ready" is what each kind means by it: rolled out, complete, bound, established, or its condition Ready. An object
    of another kind, without that condition, is ready as soon as it exists and its controller has observed its last
    change: name your condition with --for=condition=NAME or --for=jsonpath={PATH}=VALUE. The exit code is 124 if it
    takes too long, and 1 if an object has failed.

    \b
    masthead wait deploy/web --timeout=2m
    masthead wait pods -l app=web --for=condition=Ready
    masthead wait pod/web --for=jsonpath='{.status.phase}'=Succeeded
    masthead wait pod/web --for=create --for=condition=Ready
    masthead wait -f deploy/ --for=delete
    """
    from masthead._cli.identities import objects_of
    from masthead._cli.waiting import parse_conditions, seconds_to_wait, wait_for_each
    from masthead._client.documents import load_manifests

    parsed = parse_conditions(conditions)
    forms = {condition.casefold() for condition in conditions}
    sources = read_sources(files, kustomize)
    if bool(sources) == bool(references):
        raise CommandError("name objects, or manifests with -f", code=ExitCode.USAGE)
    with state.connect() as client:
        # What does not exist yet is worth waiting for only if that is said.
        may_miss = not forms.isdisjoint({"delete", "create"})
        named = (
            objects_of(client, state, references, selector=selector, is_all=is_all, must_exist=not may_miss)
            if references
            else []
        )
        if references and not named:
            # Deleted objects have met the condition.
            if "delete" in forms:
                return ExitCode.OK
            raise CommandError("no object was found to wait for", code=ExitCode.NOT_FOUND)
        wait_for_each(
            client,
            named or sources,
            parsed,
            total=len(named) or len(load_manifests(sources)),
            timeout=seconds_to_wait(timeout, _WAIT),
            no_color=state.no_color,
        )
    return ExitCode.OK
