"""``masthead patch``: changes some fields of objects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.manifest_files import is_dry_run, read_standard_input
from masthead._cli.subjects import (
    ResultPrinter,
    find_subjects,
    references_argument,
    resource_of,
    selection_options,
    write_options,
)

if TYPE_CHECKING:
    from masthead._cli.shared_options import State
    from masthead._meta.patch import Patch

__all__ = ["command"]

_TYPES: Final = ("strategic", "merge", "json")


@cluster_command("patch")
@references_argument
@selection_options
@click.option("-p", "--patch", "content", metavar="PATCH", help="the patch, as JSON or YAML")
@click.option("--patch-file", metavar="FILE", help="a file with the patch; - for the standard input")
@click.option("--type", "kind", type=click.Choice(_TYPES), default="strategic", show_default=True, help="its type")
@click.option("--subresource", default="", metavar="NAME", help="patch this subresource, such as status or scale")
@write_options
@click.pass_obj
def command(
    state: State,
    /,
    references: tuple[str, ...],
    content: str | None,
    patch_file: str | None,
    kind: str,
    subresource: str,
    dry_run: str,
    output: str | None,
    **selection: Any,  # noqa: ANN401 - as find_subjects declares them
) -> int:
    """Change some fields of objects.

    Strategic patches merge lists of built-in kinds by their keys; custom resources have merge and JSON patches only.

    \b
    masthead patch deploy/web -p '{"spec": {"replicas": 3}}'
    masthead patch widget/small --type=merge -p 'spec: {size: 5}'
    masthead patch pod/web --type=json -p '[{"op": "remove", "path": "/metadata/labels/tier"}]'
    masthead patch deploy/web --subresource=scale --type=merge -p '{"spec": {"replicas": 3}}'
    """
    patch = _parse(content, patch_file, kind)
    printer = ResultPrinter(output, dry_run)
    with state.connect() as client:
        for subject in find_subjects(client, state, references, **selection):
            resource, name = resource_of(client, subject), subject["metadata"]["name"]
            before = resource.get(name).to_dict()
            after = resource.patch(name, patch, subresource=subresource, dry_run=is_dry_run(dry_run)).to_dict()
            # Not the version alone: an object that a patch lets go of, without its last finalizer, gets no new one.
            is_same = after == before
            printer.print(after, "patched (no change)" if is_same and not is_dry_run(dry_run) else "patched")
    return ExitCode.OK


def _parse(content: str | None, file: str | None, kind: str) -> Patch:
    """Read the patch, before anything is sent.

    Raises:
        CommandError: If there is none, or it is malformed.
    """
    from masthead._meta.patch import JsonOperation, Patch
    from masthead._meta.yaml import load_one
    from masthead.errors import DecodeError

    # Before the connection: a typo should cost no request.
    if (content is None) == (file is None):
        raise CommandError("name the patch with -p or --patch-file", code=ExitCode.USAGE)
    if file is not None:
        content = read_standard_input().read() if file == "-" else Path(file).read_text("utf-8")
    try:
        data = load_one(cast("str", content))
    except DecodeError as error:
        raise CommandError(f"the patch is neither JSON nor YAML: {error.problem}", code=ExitCode.USAGE) from None
    # A list in the place of an object would be refused by the server without saying where.
    if kind == "json" and isinstance(data, list):
        return Patch.json(cast("list[JsonOperation]", data))
    if kind != "json" and isinstance(data, dict):
        fields = cast("dict[str, object]", data)
        return Patch.merge(fields) if kind == "merge" else Patch.strategic(fields)
    wanted = "a list of operations" if kind == "json" else "an object with the fields to change"
    raise CommandError(f"a patch of type {kind} is {wanted}", code=ExitCode.USAGE)
