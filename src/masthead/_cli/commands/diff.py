"""``masthead diff``: what apply would change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from masthead._cli.failures import CommandError, ExitCode, explain
from masthead._cli.framework import cluster_command
from masthead._cli.manifest_files import file_options, read_sources
from masthead._cli.terminal import has_color, keep_colors, say, write
from masthead.errors import MastheadError

if TYPE_CHECKING:
    import masthead
    from masthead._cli.shared_options import State

__all__ = ["command"]


@cluster_command("diff")
@file_options
@click.option("--client-side", is_flag=True, help="compare with what apply --client-side would do")
@click.option("--field-manager", default="masthead", show_default=True, metavar="NAME", help="who would apply")
@click.option("--force-conflicts", is_flag=True, help="as if fields of other managers were taken over")
@click.option("--applyset", metavar="KIND/NAME", help="the apply set; members that would be pruned are shown")
@click.option("--show-managed-fields", is_flag=True, help="compare managedFields, too")
@click.option("--show-secrets", is_flag=True, help="show the values of Secrets")
@click.pass_obj
def command(
    state: State,
    files: tuple[str, ...],
    kustomize: str | None,
    client_side: bool,
    field_manager: str,
    force_conflicts: bool,
    applyset: str | None,
    show_managed_fields: bool,
    show_secrets: bool,
) -> int:
    """Show what apply would change; the server computes it in a dry run.

    The exit code is 0 if nothing would change, 1 if something would, and higher for errors.
    """
    from masthead._cli.client_warnings import telling_warnings

    sources = read_sources(files, kustomize)
    if not sources:
        raise CommandError("name manifests with -f", code=ExitCode.USAGE)

    def compare(client: masthead.Client) -> masthead.manifests.DiffResult:
        return client.diff_manifests(
            sources,
            namespace=state.namespace,
            field_manager=field_manager,
            force=force_conflicts,
            client_side=client_side,
            apply_set=applyset,
        )

    try:
        with state.connect() as client, telling_warnings(_warn, every=0.0):
            found = compare(client)
    except MastheadError as error:
        failure = explain(error)
        # The exit code 1 means that there are differences.
        code = ExitCode.USAGE if failure.code is ExitCode.FAILED else failure.code
        raise CommandError(failure.line, hint=failure.hint, code=code) from error
    color = has_color(no_color=state.no_color)
    text = found.format(color=color, show_managed_fields=show_managed_fields, show_secrets=show_secrets)
    write(keep_colors(text, color=color))
    return ExitCode.FAILED if found.has_changes else ExitCode.OK


def _warn(text: str) -> None:
    say(f"masthead diff: {text}")
