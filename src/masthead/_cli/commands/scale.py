"""``masthead scale``: sets the number of replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, to_seconds
from masthead._cli.manifest_files import is_dry_run
from masthead._cli.subjects import (
    ResultPrinter,
    find_subjects,
    gvr_of,
    line_name,
    references_argument,
    resource_of,
    selection_options,
    write_options,
)

if TYPE_CHECKING:
    import masthead
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["command"]


@cluster_command("scale", all_namespaces=True)
@references_argument
@selection_options
@click.option("--replicas", type=click.IntRange(min=0), required=True, metavar="COUNT", help="the new number")
@click.option("--current-replicas", type=click.IntRange(min=0), metavar="COUNT", help="scale only from this number")
@click.option("--resource-version", metavar="VERSION", help="scale the only object if it has this version")
@click.option("--timeout", metavar="DURATION", callback=to_seconds, help="wait so long until the number is reached")
@write_options
@click.pass_obj
def command(
    state: State,
    /,
    references: tuple[str, ...],
    replicas: int,
    current_replicas: int | None,
    resource_version: str | None,
    timeout: float | None,
    dry_run: str,
    output: str | None,
    **selection: Any,  # noqa: ANN401 - as find_subjects declares them
) -> int:
    """Set the number of replicas of a Deployment, StatefulSet, or anything else with a scale.

    \b
    masthead scale deploy/web --replicas=3
    masthead scale deploy/web --current-replicas=3 --replicas=5
    masthead scale -f web.yaml --replicas=0 --timeout=1m
    """
    printer = ResultPrinter(output, dry_run)
    with state.connect() as client:
        subjects = find_subjects(client, state, references, **selection)
        # Every object has another version.
        if resource_version and len(subjects) > 1:
            raise CommandError("--resource-version is for one object", code=ExitCode.USAGE)
        for subject in subjects:
            _check(client, subject, current_replicas)
            scaled = _scale(client, subject, replicas, resource_version, dry_run=is_dry_run(dry_run))
            printer.print(scaled, "scaled")
        if timeout is not None and not is_dry_run(dry_run):
            _wait(client, state, subjects, replicas, timeout)
    return ExitCode.OK


def _check(client: masthead.Client, subject: Plain, current: int | None) -> None:
    if current is None:
        return
    # The scale, because the field of the spec has another name in some kinds.
    found = _scales(client, subject).get(gvr_of(client, subject), subject["metadata"]["name"]).spec.replicas
    if found != current:
        raise CommandError(f"{line_name(subject)} has {found or 0} replicas, not {current}", hint="nothing was changed")


def _scale(
    client: masthead.Client, subject: Plain, replicas: int, resource_version: str | None, *, dry_run: bool
) -> Plain:
    """Patch the scale, and return the object."""
    from masthead._meta.patch import Patch

    name = subject["metadata"]["name"]
    metadata = {"metadata": {"resourceVersion": resource_version}} if resource_version else {}
    # With a version, the server refuses to change a newer object.
    patch = Patch.merge({**metadata, "spec": {"replicas": replicas}})
    _scales(client, subject).patch(gvr_of(client, subject), name, patch, dry_run=dry_run)
    # The answer to the patch is a Scale, and the line names the object.
    return resource_of(client, subject).get(name).to_dict()


def _scales(client: masthead.Client, subject: Plain) -> masthead.clientset.Scales:
    return client.scales(subject["metadata"].get("namespace") or None)


def _wait(client: masthead.Client, state: State, subjects: list[Plain], replicas: int, timeout: float) -> None:
    from masthead._cli.waiting import WaitOutput, seconds_to_wait, wait_for
    from masthead._client.conditions import WaitCondition
    from masthead._meta.plain import integer, part

    def has_replicas(obj: masthead.Object | None) -> bool:
        return obj is not None and integer(part(obj.to_dict(), "status"), "replicas") == replicas

    reached: WaitCondition[masthead.Object] = WaitCondition(has_replicas, f"it has {replicas} replicas")
    wait_for(
        client,
        subjects,
        reached,
        total=len(subjects),
        timeout=seconds_to_wait(timeout, timeout),
        no_color=state.no_color,
        output=WaitOutput(done=f"has {replicas} replicas"),
    )
