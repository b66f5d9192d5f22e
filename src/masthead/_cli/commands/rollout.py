"""``masthead rollout``: follows the rollouts of workloads, begins them again, and takes them back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from masthead._cli.command_groups import command_group
from masthead._cli.failures import CommandError
from masthead._cli.framework import cluster_command, to_seconds
from masthead._cli.manifest_files import dry_run_option, is_dry_run
from masthead._cli.subjects import ResultPrinter, gvr_of, output_option
from masthead._cli.terminal import has_color, say, write
from masthead._cli.workloads import run_for_each, workload_options

if TYPE_CHECKING:
    from typing import Unpack

    from masthead._cli.rollout_history import WorkloadRevision
    from masthead._cli.shared_options import State
    from masthead._cli.workloads import SelectedWorkload, WorkloadSelection

__all__ = ["command"]


@cluster_command("status")
@workload_options
@click.option("-w", "--watch/--no-watch", "watches", default=True, show_default=True, help="wait for the end")
@click.option(
    "--revision",
    type=click.IntRange(min=0),
    default=0,
    metavar="NUMBER",
    help="a Deployment must be at this one",
)
@click.option("--timeout", metavar="DURATION", callback=to_seconds, help="how long to wait (for ever)")
@click.pass_obj
def status(
    state: State, /, watches: bool, revision: int, timeout: float | None, **selection: Unpack[WorkloadSelection]
) -> int:
    """Show how far rollouts are, and wait until they are complete.

    The exit code is 1 if a Deployment exceeds its progress deadline, and 124 if it takes too long.

    \b
    masthead rollout status deploy/web
    masthead rollout status deploy/web --timeout=2m
    masthead rollout status ds --watch=false
    """
    # 0 means no limit, as for kubectl.
    limit = timeout if timeout and timeout > 0 else math.inf
    return run_for_each(
        state, selection, lambda workload: _show_status(workload, revision, watches=watches, timeout=limit)
    )


def _show_status(workload: SelectedWorkload, revision: int, *, watches: bool, timeout: float) -> None:
    from masthead._cli.rollout_status import rollout_progress
    from masthead._cli.rollout_wait import follow_rollout

    if watches:
        follow_rollout(workload, revision, timeout)
    else:
        write(f"{rollout_progress(workload.obj, revision).line}\n")


@cluster_command("history")
@workload_options
@click.option(
    "--revision", type=click.IntRange(min=0), default=0, metavar="NUMBER", help="the pod template of this revision"
)
@output_option
@click.pass_obj
def history(state: State, /, revision: int, output: str | None, **selection: Unpack[WorkloadSelection]) -> int:
    """List the revisions of workloads, or show the pod template of one.

    \b
    masthead rollout history deploy/web
    masthead rollout history deploy/web --revision=2
    masthead rollout history sts/db --revision=2 -o yaml
    """
    printer = ResultPrinter(output) if output else None
    return run_for_each(state, selection, lambda workload: _show_history(workload, revision, printer, state))


def _show_history(workload: SelectedWorkload, number: int, printer: ResultPrinter | None, state: State) -> None:
    from masthead._cli.rollout_history import find_revision, history_table, read_revisions, revision_object

    revisions = read_revisions(workload.client, workload.obj)
    shown = [find_revision(workload.obj, revisions, number)] if number else revisions
    if printer is not None:
        for revision in shown:
            printer.print(revision_object(workload.obj, revision), "")
    elif number:
        write(f"{workload.line_name} with revision #{number}\n{_template_text(shown[0], state)}\n")
    else:
        write(f"{workload.line_name} \n{history_table(shown)}\n")


def _template_text(revision: WorkloadRevision, state: State) -> str:
    from masthead._cli.describe_pods import template_sections
    from masthead._cli.document import as_text

    lines = [line for section in template_sections(revision.shown_template) for line in section]
    return as_text(lines, color=has_color(no_color=state.no_color))


@cluster_command("undo")
@workload_options
@click.option(
    "--to-revision",
    "number",
    type=click.IntRange(min=0),
    default=0,
    metavar="NUMBER",
    help="the revision to go back to (the one before the newest)",
)
@dry_run_option
@output_option
@click.pass_obj
def undo(state: State, /, number: int, dry_run: str, output: str | None, **selection: Unpack[WorkloadSelection]) -> int:
    """Take workloads back to an earlier revision: a new rollout with its pod template.

    Manifests stay as they are, and a later apply conflicts with what this command has brought back.

    \b
    masthead rollout undo deploy/web
    masthead rollout undo ds/agent --to-revision=3
    masthead rollout undo deploy/web --dry-run=server -o yaml
    """
    printer = ResultPrinter(output, dry_run)
    return run_for_each(state, selection, lambda workload: _undo(workload, number, printer, is_dry=is_dry_run(dry_run)))


def _undo(workload: SelectedWorkload, number: int, printer: ResultPrinter, *, is_dry: bool) -> None:
    from masthead._cli.rollout_history import choose_revision, has_template, read_revisions, restoring_patch

    _warn_of_apply(workload)
    revision = choose_revision(workload.obj, read_revisions(workload.client, workload.obj), number)
    if workload.is_paused:
        raise CommandError(
            f"{workload.line_name}: you cannot rollback a paused deployment",
            hint=_resume_hint(workload),
        )
    if has_template(workload.obj, revision):
        done = f"skipped rollback (current template already matches revision {revision.number})"
        printer.print(workload.obj.to_dict(), done)
        return
    patch = restoring_patch(workload.obj, revision)
    printer.print(workload.patch(patch, dry_run=is_dry), "rolled back")


def _resume_hint(workload: SelectedWorkload) -> str:
    from masthead._cli.rollout_status import arguments_for

    return f"masthead rollout resume {arguments_for(workload.obj)} resumes it"


def _warn_of_apply(workload: SelectedWorkload) -> None:
    from masthead._cli.rollout_history import LAST_APPLIED

    if LAST_APPLIED in workload.obj.metadata.annotations:
        say(
            f"warning: {workload.line_name} is managed with kubectl apply, and its annotation {LAST_APPLIED} stays as "
            "it is: later applies may have unexpected results; apply the earlier manifest instead"
        )


@cluster_command("restart")
@workload_options
@output_option
@click.pass_obj
def restart(state: State, /, output: str | None, **selection: Unpack[WorkloadSelection]) -> int:
    """Replace all pods of workloads by a new rollout.

    A kind alone means all of its objects in the namespace.

    \b
    masthead rollout restart deploy/web
    masthead rollout restart deploy -l app=web
    masthead rollout restart sts,ds -n shop
    """
    printer = ResultPrinter(output)
    return run_for_each(
        state, selection, lambda workload: _restart(workload, printer), refusal="restarting is not supported"
    )


def _restart(workload: SelectedWorkload, printer: ResultPrinter) -> None:
    if workload.is_paused:
        raise CommandError(
            f"{workload.line_name}: can't restart paused deployment",
            hint=_resume_hint(workload),
        )
    printer.print(workload.restart(), "restarted")


@cluster_command("pause")
@workload_options
@output_option
@click.pass_obj
def pause(state: State, /, output: str | None, **selection: Unpack[WorkloadSelection]) -> int:
    """Pause the rollouts of Deployments: changes of their pod templates wait until they are resumed.

    \b
    masthead rollout pause deploy/web
    """
    printer = ResultPrinter(output)
    return run_for_each(
        state,
        selection,
        lambda workload: _set_paused(workload, printer, paused=True),
        refusal="pausing is not supported",
        only_deployments=True,
    )


@cluster_command("resume")
@workload_options
@output_option
@click.pass_obj
def resume(state: State, /, output: str | None, **selection: Unpack[WorkloadSelection]) -> int:
    """Resume the rollouts of paused Deployments.

    \b
    masthead rollout resume deploy/web
    """
    printer = ResultPrinter(output)
    return run_for_each(
        state,
        selection,
        lambda workload: _set_paused(workload, printer, paused=False),
        refusal="resuming is not supported",
        only_deployments=True,
    )


def _set_paused(workload: SelectedWorkload, printer: ResultPrinter, *, paused: bool) -> None:
    from masthead._meta.patch import Patch

    if workload.is_paused is paused:
        resource = gvr_of(workload.client, workload.obj.to_dict()).group_resource
        raise CommandError(f'{resource} "{workload.name}" is {"already" if paused else "not"} paused')
    # As kubectl, resuming removes the field.
    patch = Patch.merge({"spec": {"paused": True if paused else None}})
    printer.print(workload.patch(patch), "paused" if paused else "resumed")


command = command_group(
    "rollout",
    [status, history, undo, restart, pause, resume],
    help_="""Follow the rollouts of Deployments, DaemonSets and StatefulSets, repeat them, and take them back.

    \b
    masthead rollout status deploy/web
    masthead rollout undo deploy/web
    """,
)
