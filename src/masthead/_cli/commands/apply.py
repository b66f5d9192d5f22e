"""``masthead apply``: creates and changes the objects of manifests."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import click

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, to_seconds
from masthead._cli.manifest_files import dry_run_option, file_options, is_dry_run, read_sources
from masthead._cli.terminal import say_beside

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import masthead
    from masthead._cli.manifest_files import StandardInput
    from masthead._cli.shared_options import State
    from masthead._client.options import FieldValidation
    from masthead._meta.unstructured import Unstructured

__all__ = ["command"]

_VALIDATIONS: Final[dict[str, FieldValidation]] = {"strict": "Strict", "warn": "Warn", "ignore": "Ignore"}
_WAIT: Final = 300.0


@cluster_command("apply")
@file_options
@click.option("--server-side", is_flag=True, hidden=True, help="this is what apply does")
@click.option("--client-side", is_flag=True, help="merge here, as kubectl apply without --server-side does")
@click.option("--field-manager", default="masthead", show_default=True, metavar="NAME", help="who applies")
@click.option("--force-conflicts", is_flag=True, help="take over fields that other managers own")
@click.option(
    "--validate",
    type=click.Choice(list(_VALIDATIONS)),
    default="strict",
    show_default=True,
    help="what the server does about unknown fields",
)
@dry_run_option
@click.option("--applyset", metavar="KIND/NAME", help="the apply set of the objects, by its parent: configmaps/web")
@click.option("--prune", is_flag=True, help="delete members of the apply set that are not in the manifests")
@click.option("--wait", is_flag=True, help="wait until all objects are ready")
@click.option("--timeout", metavar="DURATION", callback=to_seconds, help="how long to wait (5m)")
@click.pass_obj
def command(
    state: State,
    files: tuple[str, ...],
    kustomize: str | None,
    server_side: bool,
    client_side: bool,
    field_manager: str,
    force_conflicts: bool,
    validate: str,
    dry_run: str,
    applyset: str | None,
    prune: bool,
    wait: bool,
    timeout: float | None,
) -> int:
    """Create or change the objects of manifests.

    It is a server-side apply: the server merges, and remembers who manages each field. A field that another manager
    owns with another value is a conflict, and nothing of that object is changed. CRDs and namespaces come first.

    \b
    masthead apply -f deploy/ --wait
    masthead apply -f web.yaml --dry-run
    kubectl kustomize . | masthead apply -f -
    masthead apply -f deploy/ -n shop --applyset configmaps/shop --prune
    """
    from masthead._cli.waiting import WaitOutput, seconds_to_wait, wait_for
    from masthead._client.readiness import ready

    sources = read_sources(files, kustomize)
    _check(sources, prune=prune, applyset=applyset, both_sides=server_side and client_side)
    how = _How(
        field_manager,
        force_conflicts,
        is_dry_run(dry_run),
        _VALIDATIONS[validate],
        client_side,
        applyset,
        prune,
    )
    with state.connect() as client:
        done = _apply(client, state, sources, how)
        if wait and not how.dry_run:
            wait_for(
                client,
                done,
                ready(),
                total=len(done),
                timeout=seconds_to_wait(timeout, _WAIT),
                no_color=state.no_color,
                output=WaitOutput(done="ready"),
            )
    return ExitCode.OK


@dataclass(frozen=True, slots=True)
class _How:
    """How manifests are applied: the options of the client's verb."""

    field_manager: str
    force: bool
    dry_run: bool
    field_validation: FieldValidation
    client_side: bool
    apply_set: str | None
    prune: bool


def _check(sources: Sequence[object], *, prune: bool, applyset: str | None, both_sides: bool) -> None:
    if not sources:
        raise CommandError("name manifests with -f", code=ExitCode.USAGE)
    if both_sides:
        raise CommandError("--server-side and --client-side exclude each other", code=ExitCode.USAGE)
    if prune and not applyset:
        raise CommandError(
            "--prune needs an apply set",
            hint="name its parent: --applyset configmaps/web",
            code=ExitCode.USAGE,
        )


def _apply(
    client: masthead.Client, state: State, sources: Sequence[Path | StandardInput], how: _How
) -> masthead.manifests.ApplyResult:
    """Apply manifests, with a line for each object.

    Raises:
        CommandError: If the namespace does not exist, or there is nothing to apply.
        ManifestError: If something else goes wrong.
    """
    from masthead._cli.client_warnings import telling_warnings
    from masthead._cli.progress import Work
    from masthead._cli.references import refuse_missing_namespace
    from masthead._cli.waiting import label_of
    from masthead._client.migration import LOGGER_NAME
    from masthead.errors import ManifestError, NotFoundError

    suffix = " (server dry run)" if how.dry_run else ""
    with (
        Work("applying", no_color=state.no_color) as work,
        telling_warnings(_warn, LOGGER_NAME, every=0.0),
    ):

        def tell(obj: Unstructured, outcome: str) -> None:
            work.line(f"{label_of(obj)} {outcome}{suffix}")
            work.advance(label_of(obj))

        try:
            done = client.apply_manifests(sources, namespace=state.namespace, on_applied=tell, **asdict(how))
        except ManifestError as error:
            # The server reports a missing namespace as a missing object.
            if state.namespace and isinstance(error.__cause__, NotFoundError):
                refuse_missing_namespace(client, state.namespace)
            raise
        for pruned in done.pruned:
            work.line(f"{label_of(pruned)} pruned{suffix}")
        for skipped in done.skipped:
            work.line(f"{skipped} not checked: its kind or namespace does not exist yet{suffix}")
    # An empty folder or a wrong glob would otherwise look like success.
    if not (done or done.pruned or done.skipped):
        raise CommandError("there are no objects in the manifests", code=ExitCode.USAGE)
    return done


def _warn(text: str) -> None:
    say_beside(f"masthead apply: {text}")
