"""``masthead edit``: changes objects in an editor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from masthead._cli.creating import validate_option, validation_of
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.manifest_files import file_options
from masthead._cli.subjects import ResultPrinter, find_subjects, references_argument, resource_of

if TYPE_CHECKING:
    import masthead
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["command"]


@cluster_command("edit")
@references_argument
@file_options
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), help="edit, and print the result, in this form (yaml)"
)
@click.option("--subresource", default="", metavar="NAME", help="edit this subresource, such as status")
@click.option("--output-patch", "prints_patch", is_flag=True, help="print what is sent")
@validate_option
@click.option("--save-config", is_flag=True, help="keep the configuration in an annotation, for apply --client-side")
@click.option("--field-manager", default="masthead-edit", show_default=True, metavar="NAME", help="who changes it")
@click.pass_obj
def command(
    state: State,
    references: tuple[str, ...],
    files: tuple[str, ...],
    kustomize: str | None,
    output: str | None,
    subresource: str,
    prints_patch: bool,
    validate: str,
    save_config: bool,
    field_manager: str,
) -> int:
    """Change objects in an editor: that of KUBE_EDITOR or EDITOR, otherwise vi.

    Changes of the file are sent. If the server refuses it, the file opens again, with the reasons as comments.

    \b
    masthead edit deploy/web
    masthead edit configmap settings colors -n shop -o json
    KUBE_EDITOR='code --wait' masthead edit svc/web
    """
    from masthead._cli.edit_session import EditOptions, EditSession

    options = EditOptions(
        output or "yaml", subresource, field_manager, validation_of(validate), save_config, prints_patch
    )
    printer = ResultPrinter(output)
    with state.connect() as client:
        objects = _find(client, state, references, files, kustomize, subresource)
        if not objects:
            raise CommandError("there is nothing to edit", code=ExitCode.NOT_FOUND)
        return EditSession(client, objects, printer, options).run()


def _find(
    client: masthead.Client,
    state: State,
    references: tuple[str, ...],
    files: tuple[str, ...],
    kustomize: str | None,
    subresource: str,
) -> list[Plain]:
    from masthead._cli.references import parse_references

    # As in kubectl, a kind alone means all of its objects.
    is_all = bool(references) and not any(reference.names for reference in parse_references(references))
    subjects = find_subjects(client, state, references, files=files, kustomize=kustomize, is_all=is_all)
    # Whole objects rather than a list: the subresource may be another kind.
    return [
        resource_of(client, subject).get(subject["metadata"]["name"], subresource=subresource).to_dict()
        for subject in subjects
    ]
