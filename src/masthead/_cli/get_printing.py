"""``get`` without ``-w``: tables, and objects in other forms."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.fetching import fetch_objects, fetch_table
from masthead._cli.outputs import listed
from masthead._cli.references import say_nothing_found
from masthead._cli.subjects import line_name
from masthead._cli.tables import data_of, render, with_label_columns, with_prefix
from masthead._cli.terminal import say, write, write_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    import masthead
    from masthead._cli.fetching import Fetched
    from masthead._cli.get_request import Chosen, GetRequest
    from masthead._cli.references import Selected
    from masthead._meta.plain import Plain
    from masthead._printers.table import PrintedTable

__all__ = ["arrange", "print_objects", "print_tables"]


def print_tables(client: masthead.Client, chosen: Chosen, request: GetRequest) -> int:
    """Print a table for each resource, and return the exit code.

    Raises:
        CommandError: If something named does not exist.
        MastheadError: As any call.
    """
    found = [_fetch_table(client, selected, request) for selected in chosen.resources]
    # Two kinds may have objects of the same name, so that rows of several kinds need a prefix.
    kinds = {fetched.selected.resource for fetched in found if fetched.table is not None}
    tables = [
        arrange(fetched.table, fetched.selected, request, prefixed=len(kinds) > 1)
        for fetched in _joined(found)
        if fetched.table is not None
    ]
    text = render(tables, request.options)
    write(text)
    # Errors are reported by name, and "No resources found" would contradict them.
    if not text and not any(fetched.errors for fetched in found) and not request.ignore_not_found:
        _say_nothing_found(client, chosen.resources)
    return _raise_errors(found, request)


def _fetch_table(client: masthead.Client, selected: Selected, request: GetRequest) -> Fetched:
    if request.server_print:
        return fetch_table(client, selected, selection=request.selection, with_objects=bool(request.sort_by))
    from masthead._cli.plain_tables import plain_table

    # Rows need the objects themselves: there is no table of the server.
    found = fetch_objects(client, selected, selection=request.selection)
    found.table = plain_table(found.objects, namespaces=selected.resource.namespaced and selected.namespace is None)
    return found


def _joined(found: Sequence[Fetched]) -> list[Fetched]:
    """Join neighbouring tables of a resource: manifests may name objects of several namespaces."""
    joined: list[Fetched] = []
    for fetched in found:
        last = joined[-1] if joined else None
        is_same = last is not None and last.selected.resource == fetched.selected.resource
        if last is None or not is_same or last.table is None or fetched.table is None:
            joined.append(fetched)
        else:
            table = replace(last.table, rows=(*last.table.rows, *fetched.table.rows))
            joined[-1] = replace(last, table=table)
    return joined


def arrange(table: PrintedTable, selected: Selected, request: GetRequest, *, prefixed: bool) -> PrintedTable:
    """The table as the options want it.

    Args:
        table: The table.
        selected: Its resource.
        request: The options.
        prefixed: Whether names need their kinds.

    Raises:
        CommandError: If the path to sort by is invalid.
    """
    if request.sort_by:
        from masthead._cli.sorting import sorted_by

        rows = sorted_by(request.sort_by, table.rows, data_of)
        table = replace(table, rows=tuple(rows))
    if prefixed or request.show_kind:
        table = with_prefix(table, selected.title)
    if request.label_columns:
        table = with_label_columns(table, request.label_columns)
    return table


def _say_nothing_found(client: masthead.Client, chosen: Sequence[Selected]) -> None:
    """Distinguish an empty namespace from a missing one.

    Raises:
        CommandError: If the namespace does not exist.
    """
    namespaces = {selected.namespace for selected in chosen}
    for namespace in [None] if None in namespaces else namespaces:
        say_nothing_found(client, namespace)


def print_objects(client: masthead.Client, chosen: Chosen, request: GetRequest) -> int:
    """Print objects in other forms than tables, and return the exit code.

    Raises:
        CommandError: If something named does not exist.
        MastheadError: As any call.
    """
    found = [
        fetch_objects(client, selected, selection=request.selection, show_managed_fields=request.show_managed_fields)
        for selected in chosen.resources
    ]
    # One order for objects of all kinds: the list of kubectl has no groups.
    objects = [obj for fetched in found for obj in fetched.objects]
    if request.sort_by:
        from masthead._cli.sorting import sorted_by

        objects = sorted_by(request.sort_by, objects, lambda obj: obj)
    if request.output.form == "name":
        write("".join(f"{line_name(obj)}\n" for obj in objects))
    # As kubectl: with --ignore-not-found, nothing rather than an empty list.
    elif objects or not (request.ignore_not_found and any(fetched.errors for fetched in found)):
        _print_rendered(objects, chosen, request)
    return _raise_errors(found, request)


def _print_rendered(objects: Sequence[Plain], chosen: Chosen, request: GetRequest) -> None:
    put = write_data if request.output.is_data else write
    # As kubectl: one name prints the object itself, everything else a List, even of one object.
    if not chosen.is_one:
        put(request.output.render(listed(objects)))
    elif len(objects) == 1:
        put(request.output.render(objects[0]))
    # One manifest file may hold several objects.
    elif objects:
        put(request.output.render(listed(objects)))


def _raise_errors(found: Sequence[Fetched], request: GetRequest) -> int:
    """Print the errors of names that do not exist, and raise the last one."""
    errors: list[CommandError] = [error for fetched in found for error in fetched.errors]
    if not errors or request.ignore_not_found:
        return ExitCode.OK
    # The last error ends the command, and is printed by the caller.
    for error in errors[:-1]:
        say(f"masthead get: {error.line}")
        if error.hint:
            say(f"hint: {error.hint}")
    raise errors[-1]
