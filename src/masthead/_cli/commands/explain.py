"""``masthead explain``: the fields of a kind, and what they mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from masthead._cli.completion import complete_references
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.references import nearest
from masthead._cli.terminal import write

if TYPE_CHECKING:
    import masthead
    from masthead._cli.schema_text import SchemaText
    from masthead._cli.shared_options import State
    from masthead._discovery.model import ServedResource

__all__ = ["command"]

_FIELD: Final = re.compile(r"[\w$-]+")


class _Subject(NamedTuple):
    resource: ServedResource
    path: list[str]


@cluster_command("explain")
@click.argument("subject", required=False, metavar="KIND[.FIELD...]", shell_complete=complete_references)
@click.option("-R", "--recursive", is_flag=True, help="the fields of fields, too, without descriptions")
@click.option("--api-version", metavar="GROUP/VERSION", help="the kind in this version")
@click.option("-o", "--output", type=click.Choice(("plaintext",)), default="plaintext", help="the only form")
@click.pass_obj
def command(state: State, subject: str | None, recursive: bool, api_version: str | None, output: str) -> int:  # noqa: ARG001 - has one value
    """Print the fields of a kind with their types and descriptions, as the server's schema has them.

    If a schema of Kubernetes comes without descriptions, they are those of masthead's own types.

    \b
    masthead explain pods
    masthead explain deploy.spec.strategy
    masthead explain ingresses.networking.k8s.io.spec --recursive
    masthead explain cronjobs --api-version=batch/v1
    """
    from masthead._cli.schema_text import SchemaText
    from masthead._cli.schemas import Schemas

    words = _split(subject)
    with state.connect() as client:
        resource, path = _find(client, words, api_version)
        schemas = Schemas(client.discovery.openapi(resource.api_version))
    schema = schemas.of_kind(resource.gvk)
    if not schema:
        raise CommandError(
            f"the schema of {resource.api_version} has no kind {resource.kind}",
            hint="that of a new custom resource appears some seconds after its definition",
            code=ExitCode.NOT_FOUND,
        )
    written = SchemaText(schema, schemas.resolve, recursive=recursive)
    explained = written.render(path)
    if not explained:
        raise _missing_field(written, path)
    gvk = resource.gvk
    group = f"GROUP:      {gvk.group}\n" if gvk.group else ""
    write(f"{group}KIND:       {gvk.kind}\nVERSION:    {gvk.version}\n\n{explained}\n")
    return ExitCode.OK


def _split(subject: str | None) -> list[str]:
    """Split the argument at its dots.

    Raises:
        CommandError: If it is missing, or is no path.
    """
    if subject is None:
        raise CommandError(
            "you must specify the type of resource to explain",
            hint="masthead api-resources lists all of them",
            code=ExitCode.USAGE,
        )
    words = subject.removesuffix(".").split(".")
    if not all(map(_FIELD.fullmatch, words)):
        raise CommandError(
            f"{subject!r} is not KIND.FIELD.FIELD",
            hint="lists and maps are passed by: pods.spec.containers.name",
            code=ExitCode.USAGE,
        )
    return words


def _find(client: masthead.Client, words: list[str], api_version: str | None) -> _Subject:
    """Find the resource that the first words name, perhaps with its group, and leave the path of the field.

    Raises:
        UnknownKindError: If there is none.
        MastheadError: As any call.
    """
    name, rest = words[0], words[1:]
    if api_version is not None:
        return _Subject(client.mapper.find(name, api_version=api_version), rest)
    from masthead.errors import UnknownKindError

    for group in client.discovery.groups():
        parts = group.name.split(".")
        # A group may be the name of a field, too: then it counts as a group only if it has the resource.
        if group.name and rest[: len(parts)] == parts:
            try:
                return _Subject(client.mapper.find(name, group=group.name), rest[len(parts) :])
            except UnknownKindError:
                continue
    return _Subject(client.mapper.find(name), rest)


def _missing_field(written: SchemaText, path: list[str]) -> CommandError:
    known = next(count for count in range(len(path)) if not written.render(path[: count + 1]))
    hint = nearest(path[known], written.names_beside(path[:known]))
    where = ".".join(path[:known])
    return CommandError(
        f'field "{path[known]}" does not exist{f" in {where}" if where else ""}', hint=hint, code=ExitCode.NOT_FOUND
    )
