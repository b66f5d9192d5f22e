"""``masthead delete``: deletes objects, by manifests or by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from masthead._cli.completion import complete_references
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, to_seconds
from masthead._cli.manifest_files import dry_run_option, file_options, is_dry_run, read_sources
from masthead._cli.terminal import say, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import masthead
    from masthead._cli.manifest_files import StandardInput
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain
    from masthead._meta.unstructured import Unstructured
    from masthead._meta.v1 import DeletionPropagation

__all__ = ["command"]

_CASCADES: Final[dict[str, DeletionPropagation]] = {
    "background": "Background",
    "foreground": "Foreground",
    "orphan": "Orphan",
}
_NOTICE_SECONDS: Final = 3.0
"""Seconds of waiting in silence: a finalizer may keep an object for ever."""
_FORCED: Final = "nothing waits until containers have ended, and they may go on running if their node cannot be reached"


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
    "--grace-period",
    type=click.IntRange(min=-1),
    default=-1,
    metavar="SECONDS",
    help="how long pods have to end (-1: what they say); 0 needs --force, and is 1 without it",
)
@click.option("--now", is_flag=True, help="the same as --grace-period=1")
@click.option("--force", is_flag=True, help="delete at once, though containers may still run")
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
    grace_period: int,
    now: bool,
    force: bool,
    dry_run: str,
    waits: bool,
    timeout: float | None,
) -> int:
    """Delete objects, and wait until they no longer exist.

    Objects of manifests are deleted in reverse install order; missing objects are skipped.

    \b
    masthead delete -f deploy/
    masthead delete pod/web svc/web
    masthead delete pods -l app=web --no-wait
    """
    sources = read_sources(files, kustomize)
    # Manifests and names exclude each other; a selector or --all needs a kind as well.
    if bool(sources) == bool(references):
        raise CommandError("name objects, or manifests with -f", code=ExitCode.USAGE)
    how = _How(_CASCADES[cascade], _grace(grace_period, now=now, force=force), is_dry_run(dry_run))
    if how.grace == 0:
        say(f"warning: {_FORCED}")
    with state.connect() as client:
        if sources:
            deleted = _delete_manifests(client, state, sources, how)
        else:
            targets = _targets(client, state, references, selector, is_all=is_all, ignores=ignore_not_found)
            if not targets:
                write("No resources found\n")
            deleted = _delete_named(client, state, targets, how)
        # Without its uid, an object is indistinguishable from a successor of the same name.
        remaining = [obj for obj in deleted if obj["metadata"].get("uid")]
        if waits and not how.is_dry and remaining:
            _wait_until_gone(client, state, remaining, timeout)
    return ExitCode.OK


@dataclass(frozen=True, slots=True)
class _How:
    """How objects are deleted.

    Attributes:
        propagation: What happens to dependents.
        grace: The grace period in seconds; None for what the objects say.
        is_dry: Whether nothing is deleted.
    """

    propagation: DeletionPropagation
    grace: int | None
    is_dry: bool


def _grace(seconds: int, *, now: bool, force: bool) -> int | None:
    """Return the grace period that the options mean, as for kubectl: immediate deletion needs --force."""
    if now and seconds >= 0:
        raise CommandError("--now and --grace-period exclude each other", code=ExitCode.USAGE)
    if force and (now or seconds > 0):
        raise CommandError("--force and a grace period above 0 exclude each other", code=ExitCode.USAGE)
    if force:
        return 0
    # As in kubectl, 0 alone becomes 1: 0 removes a pod without waiting for the kubelet.
    if now or seconds == 0:
        return 1
    return seconds if seconds > 0 else None


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
    client: masthead.Client, state: State, sources: Sequence[Path | StandardInput], how: _How
) -> list[Plain]:
    from masthead._cli.progress import Work
    from masthead._cli.waiting import label_of

    with Work("deleting", no_color=state.no_color) as work:

        def tell(obj: Unstructured) -> None:
            work.line(_line(obj.to_dict(), how))
            work.advance(label_of(obj))

        done = client.delete_manifests(
            sources,
            namespace=state.namespace,
            grace_period_seconds=how.grace,
            propagation_policy=how.propagation,
            dry_run=how.is_dry,
            on_deleted=tell,
        )
        if not done:
            work.line("nothing of it exists")
    return [obj.to_dict() for obj in done]


def _delete_named(client: masthead.Client, state: State, targets: Sequence[Plain], how: _How) -> list[Plain]:
    from masthead._cli.progress import Work
    from masthead.errors import NotFoundError

    deleted: list[Plain] = []
    with Work("deleting", no_color=state.no_color, total=len(targets)) as work:
        for target in targets:
            metadata = target["metadata"]
            resource = client.dynamic(target["apiVersion"], target["kind"], namespace=metadata.get("namespace"))
            work.detail(metadata["name"])
            try:
                remaining = resource.delete(
                    metadata["name"],
                    grace_period_seconds=how.grace,
                    propagation_policy=how.propagation,
                    # An object that was created again under this name is not deleted.
                    uid=metadata.get("uid"),
                    dry_run=how.is_dry,
                )
            except NotFoundError:
                continue  # deleted already
            finally:
                work.advance()
            work.line(_line(target, how))
            deleted.append(remaining.to_dict() if remaining is not None else target)
    return deleted


def _line(obj: Plain, how: _How) -> str:
    group = obj["apiVersion"].rpartition("/")[0]
    kind = f"{obj['kind']}.{group}" if group else obj["kind"]
    namespace = obj["metadata"].get("namespace")
    done = "force deleted" if how.grace == 0 else "deleted"
    place = f" from {namespace} namespace" if namespace else ""
    return f'{kind.lower()} "{obj["metadata"]["name"]}" {done}{place}{" (server dry run)" if how.is_dry else ""}'


def _wait_until_gone(client: masthead.Client, state: State, deleted: Sequence[Plain], timeout: float | None) -> None:
    from masthead._cli.waiting import WaitOutput, seconds_to_wait, wait_for
    from masthead._client.conditions import WaitCondition

    uids = {obj["metadata"]["uid"] for obj in deleted}
    # A controller may already have created another object of that name.
    gone: WaitCondition[masthead.Object] = WaitCondition(
        lambda obj: obj is None or obj.metadata.uid not in uids, "it is gone"
    )
    wait_for(
        client,
        deleted,
        gone,
        total=len(deleted),
        timeout=seconds_to_wait(timeout, math.inf),
        no_color=state.no_color,
        output=WaitOutput(done="was created again", notice_after=_NOTICE_SECONDS),
    )
