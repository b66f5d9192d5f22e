"""What the options of ``get`` ask for, and the objects that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.references import Selected, parse_references, resolve
from masthead._value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import masthead
    from masthead._cli.fetching import ObjectSelection
    from masthead._cli.manifest_files import StandardInput
    from masthead._cli.outputs import Output
    from masthead._cli.shared_options import State
    from masthead._cli.tables import TableOptions

__all__ = ["Chosen", "GetRequest", "choose"]


class GetRequest(Value):
    """What the options ask for.

    Attributes:
        output: The form of the output.
        selection: Selectors, pages and the subresource.
        options: The options of tables.
        label_columns: The labels with columns of their own.
        sort_by: The path to sort by; None for the server's order.
        show_kind: Whether each name has its kind before it.
        show_managed_fields: Whether ``metadata.managedFields`` are printed.
        ignore_not_found: Whether objects that do not exist are no error.
        server_print: Whether the server makes the tables.
    """

    output: Output
    selection: ObjectSelection
    options: TableOptions
    label_columns: tuple[str, ...]
    sort_by: str | None
    show_kind: bool
    show_managed_fields: bool
    ignore_not_found: bool
    server_print: bool


class Chosen(Value):
    """The objects that a command names.

    Attributes:
        resources: Resources, with names if only some of their objects are meant.
        is_one: Whether a single object is printed without a list around it.
    """

    resources: list[Selected]
    is_one: bool


def choose(
    client: masthead.Client,
    state: State,
    references: Sequence[str],
    sources: Sequence[Path | StandardInput],
) -> Chosen:
    """Look up what arguments or manifests name.

    Raises:
        CommandError: If nothing is named, or a manifest is in another namespace than the one of ``-n``.
        MastheadError: As any call.
    """
    # Arguments and manifests exclude each other; the command has checked that.
    if not sources:
        resources = resolve(client, state, parse_references(references))
        return Chosen(resources, len(resources) == 1 and len(resources[0].names) == 1)
    # As in kubectl, one file with one object is that object, and several files are a list.
    is_one = len(sources) == 1
    return Chosen(_of_manifests(client, state, sources), is_one)


def _of_manifests(client: masthead.Client, state: State, sources: Sequence[Path | StandardInput]) -> list[Selected]:
    from masthead._client.documents import load_manifests

    found: list[Selected] = []
    for obj in load_manifests(sources):
        # Neighbours are joined, as those of the command line are.
        resource = client.mapper.kind(obj.gvk)
        given = obj.metadata.namespace
        if resource.namespaced and state.namespace and given and given != state.namespace:
            raise CommandError(
                f"{resource.name} {obj.metadata.name} is in namespace {given}, not in {state.namespace}",
                hint=f"pass -n {given}, or leave -n out",
                code=ExitCode.USAGE,
            )
        namespace = (given or client.namespace) if resource.namespaced else None
        last = found[-1] if found else None
        if last is not None and (last.resource, last.namespace) == (resource, namespace):
            found[-1] = Selected(resource, (*last.names, obj.metadata.name), namespace)
        else:
            found.append(Selected(resource, (obj.metadata.name,), namespace))
    return found
