"""``masthead delete``: deletes objects, by manifests or by name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import click

from masthead._cli.completion import complete_references
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, to_seconds
from masthead._cli.manifest_files import dry_run_option, file_options, is_dry_run, read_sources

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import masthead
    from masthead._cli.outputs import Plain
    from masthead._cli.progress import Work
    from masthead._cli.state import State
    from masthead._meta.v1 import DeletionPropagation

__all__ = ["command"]

_CASCADES: Final[dict[str, DeletionPropagation]] = {
    "background": "Background",
    "foreground": "Foreground",
    "orphan": "Orphan",
}


@cluster_command("delete", all_namespaces=True)
@click.argument("references", nargs=-1, metavar="[KIND[/NAME] [NAME]...]", shell_complete=complete_references)
@file_options
@click.option("-l", "--selector", metavar="SELECTOR", help="objects with these labels")
@click.option("--all", "is_all", is_flag=True, help="all objects of the kind")
@click.option("--ignore-not-found", is_flag=True, help="objects that do not exist are no error")
@click.option(
    "--cascade",
    type=click.Choice(list(_CASCADES)),
    default="background",
    show_default=True,
    help="what happens to dependents",
)
@click.option(
    "--grace-period", type=click.IntRange(min=0), metavar="SECONDS", help="how long pods have to end"
)
@click.option("--now", is_flag=True, help="the same as --grace-period=1")
@dry_run_option
@click.option("--wait/--no-wait", "waits", default=True, show_default=True, help="wait until they are gone")
@click.option("--timeout", metavar="DURATION", callback=to_seconds, help="how long to wait (for ever)")
@click.pass_obj
def command(
    state: State,
    references: tuple[str, ...],
    files: tuple[str, ...],
    kustomize: str | None,
    selector: str | None,
    is_all: bool,
    ignore_not_found: bool,
    cascade: str,
    grace_period: int | None,
    now: bool,
    dry_run: str,
    waits: bool,
    timeout: float | None,
) -> int:
    """Delete objects, and wait until they are gone.

    Objects of manifests go in reverse install order; those that do not exist are skipped.

    \b
    masthead delete -f deploy/
    masthead delete pod/web svc/web
    masthead delete pods -l app=web --no-wait
    """
    from masthead._cli.progress import Work

    sources = read_sources(files, kustomize)
    if bool(sources) == bool(references):
        raise CommandError("name objects, or manifests with -f", code=ExitCode.USAGE)
    is_dry = is_dry_run(dry_run)
    with state.connect() as client:
        with Work("deleting", no_color=state.no_color) as work:
            if sources:
                deleted = _delete_manifests(client, state, sources, work, cascade=cascade, is_dry=is_dry)
            else:
                deleted = _delete_named(
                    client,
                    _targets(client, state, references, selector, is_all=is_all, ignores=ignore_not_found),
                    work,
                    cascade=cascade,
                    grace=1 if now else grace_period,
                    is_dry=is_dry,
                )
        if waits and not is_dry and deleted:
            _wait_until_gone(client, state, deleted, timeout)
    return ExitCode.OK


def _targets(
    client: masthead.Client,
    state: State,
    references: tuple[str, ...],
    selector: str | None,
    *,
    is_all: bool,
    ignores: bool,
) -> list[Plain]:
    from masthead._cli.identities import objects_of

    return objects_of(client, state, references, selector=selector, is_all=is_all, must_exist=not ignores)


def _delete_manifests(
    client: masthead.Client,
    state: State,
    sources: Sequence[Path | str],
    work: Work,
    *,
    cascade: str,
    is_dry: bool,
) -> list[Plain]:
    done = client.delete_manifests(
        sources, namespace=state.namespace, propagation_policy=_CASCADES[cascade], dry_run=is_dry
    )
    objects = [each.to_dict() for each in done]
    for each in objects:
        work.line(_line(each, is_dry=is_dry))
    if not objects:
        work.line("nothing of it exists")
    return objects


def _delete_named(
    client: masthead.Client,
    targets: Sequence[Plain],
    work: Work,
    *,
    cascade: str,
    grace: int | None,
    is_dry: bool,
) -> list[Plain]:
    from masthead.errors import NotFoundError

    deleted: list[Plain] = []
    for each in targets:
        metadata = each["metadata"]
        resource = client.dynamic(each["apiVersion"], each["kind"], namespace=metadata.get("namespace"))
        work.advance(metadata["name"])
        try:
            resource.delete(
                metadata["name"],
                grace_period_seconds=grace,
                propagation_policy=_CASCADES[cascade],
                uid=metadata.get("uid"),
                dry_run=is_dry,
            )
        except NotFoundError:
            continue  # it is gone already
        work.line(_line(each, is_dry=is_dry))
        deleted.append(each)
    return deleted


def _line(obj: Plain, *, is_dry: bool) -> str:
    group = obj["apiVersion"].rpartition("/")[0]
    kind = f"{obj['kind']}.{group}" if group else obj["kind"]
    namespace = obj["metadata"].get("namespace")
    place = f" from {namespace} namespace" if namespace else ""
    return f'{kind.lower()} "{obj["metadata"]["name"]}" deleted{place}{" (server dry run)" if is_dry else ""}'


def _wait_until_gone(
    client: masthead.Client, state: State, deleted: Sequence[Plain], timeout: float | None
) -> None:
    from masthead._cli.waiting import seconds_to_wait, wait_for
    from masthead._client.conditions import WaitCondition

    uids = {each["metadata"].get("uid") for each in deleted} - {None}
    # A controller may have made another of that name at once.
    gone: WaitCondition[masthead.Object] = WaitCondition(
        lambda obj: obj is None or bool(uids and obj.metadata.uid not in uids), "it is gone"
    )
    wait_for(
        client,
        deleted,
        gone,
        total=len(deleted),
        timeout=seconds_to_wait(timeout, math.inf),
        no_color=state.no_color,
        done="was made anew",
    )
