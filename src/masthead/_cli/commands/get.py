"""``masthead get``: objects of any kind, as kubectl prints them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

import click

from masthead._cli.completion import complete_outputs, complete_references
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.terminal import has_color, say, write, write_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    import masthead
    from masthead._cli.fetching import Fetched, ObjectSelection
    from masthead._cli.outputs import Output
    from masthead._cli.references import Selected
    from masthead._cli.shared_options import State
    from masthead._cli.tables import TableOptions
    from masthead._printers.table import PrintedTable

__all__ = ["command"]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the options ask for."""

    output: Output
    selection: ObjectSelection
    options: TableOptions
    label_columns: tuple[str, ...]
    sort_by: str | None
    show_kind: bool
    show_managed_fields: bool


@cluster_command("get", all_namespaces=True)
@click.argument("references", nargs=-1, metavar="KIND[/NAME] [NAME]...", shell_complete=complete_references)
@click.option("-l", "--selector", metavar="SELECTOR", help="only objects with these labels")
@click.option("--field-selector", metavar="SELECTOR", help="only objects with these fields")
@click.option(
    "-o",
    "--output",
    metavar="FORM",
    shell_complete=complete_outputs,
    help="wide, yaml, json, name, jsonpath=TEMPLATE or custom-columns=HEADER:PATH,...",
)
@click.option("-w", "--watch", is_flag=True, help="go on with a line for each change")
@click.option("--show-labels", is_flag=True, help="a column of all labels")
@click.option("-L", "--label-columns", multiple=True, metavar="LABEL", help="a column for this label")
@click.option("--show-kind", is_flag=True, help="the kind before each name")
@click.option("--sort-by", metavar="PATH", help="sort by this field, as JSONPath: .metadata.creationTimestamp")
@click.option("--no-headers", is_flag=True, help="no heading")
@click.option("--show-managed-fields", is_flag=True, help="keep managedFields in YAML and JSON")
@click.pass_obj
def command(
    state: State,
    references: tuple[str, ...],
    selector: str | None,
    field_selector: str | None,
    output: str | None,
    watch: bool,
    show_labels: bool,
    label_columns: tuple[str, ...],
    show_kind: bool,
    sort_by: str | None,
    no_headers: bool,
    show_managed_fields: bool,
) -> int:
    """Print objects as kubectl does.

    \b
    masthead get pods                      a table, with the server's columns
    masthead get deploy,svc -A -o wide     several kinds, in all namespaces
    masthead get pods web -o yaml          one object
    masthead get deploy/web svc/web        several, by name
    masthead get pods -l app=web -w        and a line for each change
    """
    from masthead._cli.fetching import ObjectSelection
    from masthead._cli.outputs import parse_output
    from masthead._cli.references import parse_references, resolve
    from masthead._cli.tables import TableOptions

    form = parse_output(output)
    asked = _Asked(
        form,
        ObjectSelection(selector, field_selector),
        TableOptions(
            wide=form.form == "wide",
            labels=show_labels,
            headers=not no_headers,
            color=has_color(no_color=state.no_color),
        ),
        # "-L app,tier" and "-L app -L tier" are the same, as for kubectl.
        tuple(key for label_column in label_columns for key in label_column.split(",")),
        sort_by,
        show_kind,
        show_managed_fields,
    )
    parsed = parse_references(references)
    with state.connect() as client:
        chosen = resolve(client, state, parsed)
        _refuse_selectors_with_names(chosen, asked.selection)
        if watch:
            _watch(client, chosen, asked)
        if form.is_table:
            return _print_tables(client, chosen, asked)
        return _print_objects(client, chosen, asked)


def _refuse_selectors_with_names(chosen: Sequence[Selected], selection: ObjectSelection) -> None:
    if any(selected.names for selected in chosen) and (selection.labels or selection.fields):
        raise CommandError("a selector and names exclude each other", code=ExitCode.USAGE)


def _print_tables(client: masthead.Client, chosen: Sequence[Selected], asked: _Asked) -> int:
    from masthead._cli.fetching import fetch_table
    from masthead._cli.tables import render

    found = [
        fetch_table(client, selected, selection=asked.selection, with_objects=bool(asked.sort_by))
        for selected in chosen
    ]
    # Two kinds may have objects of the same name, so that rows of several kinds need a prefix.
    prefixed = asked.show_kind or len(chosen) > 1
    tables = [
        _arrange(fetched.table, fetched.selected, asked, prefixed=prefixed)
        for fetched in found
        if fetched.table is not None
    ]
    text = render(tables, asked.options)
    write(text)
    # Errors are reported by name, and "No resources found" would contradict them.
    if not text and not any(fetched.errors for fetched in found):
        _say_nothing_found(client, chosen)
    return _raise_errors(found)


def _arrange(table: PrintedTable, selected: Selected, asked: _Asked, *, prefixed: bool) -> PrintedTable:
    """The table as the options want it."""
    from masthead._cli.tables import data_of, with_label_columns, with_prefix

    if asked.sort_by:
        from masthead._cli.sorting import sorted_by

        rows = sorted_by(asked.sort_by, table.rows, data_of)
        table = replace(table, rows=tuple(rows))
    if prefixed:
        table = with_prefix(table, selected.title)
    if asked.label_columns:
        table = with_label_columns(table, asked.label_columns)
    return table


def _say_nothing_found(client: masthead.Client, chosen: Sequence[Selected]) -> None:
    """Distinguish an empty namespace from a missing one.

    Raises:
        CommandError: If the namespace does not exist.
    """
    from masthead._cli.references import say_nothing_found

    namespaces = {selected.namespace for selected in chosen}
    for namespace in [None] if None in namespaces else namespaces:
        say_nothing_found(client, namespace)


def _print_objects(client: masthead.Client, chosen: Sequence[Selected], asked: _Asked) -> int:
    from masthead._cli.fetching import fetch_objects
    from masthead._cli.outputs import listed

    found = [
        fetch_objects(client, selected, selection=asked.selection, show_managed_fields=asked.show_managed_fields)
        for selected in chosen
    ]
    if asked.output.form == "name":
        for fetched in found:
            write("".join(f"{fetched.selected.title}/{obj['metadata']['name']}\n" for obj in fetched.objects))
        return _raise_errors(found)
    objects = [obj for fetched in found for obj in fetched.objects]
    if asked.sort_by:
        from masthead._cli.sorting import sorted_by

        objects = sorted_by(asked.sort_by, objects, lambda obj: obj)
    # As kubectl: one name prints the object itself, everything else a List, even of one object.
    is_one = len(chosen) == 1 and len(chosen[0].names) == 1
    put = write_data if asked.output.is_data else write
    if is_one and objects:
        put(asked.output.render(objects[0]))
    elif not is_one:
        put(asked.output.render(listed(objects)))
    return _raise_errors(found)


def _raise_errors(found: Sequence[Fetched]) -> int:
    """Print the errors of names that do not exist, and raise the last one."""
    errors = [error for fetched in found for error in fetched.errors]
    if not errors:
        return ExitCode.OK
    # The last error ends the command, and is printed by the caller.
    for error in errors[:-1]:
        say(f"masthead get: {error.line}")
        if error.hint:
            say(f"hint: {error.hint}")
    raise errors[-1]


def _watch(client: masthead.Client, chosen: Sequence[Selected], asked: _Asked) -> NoReturn:
    from masthead._cli.following import follow

    if len(chosen) != 1 or len(chosen[0].names) > 1 or not asked.output.is_table:
        raise CommandError(
            "-w follows one kind, or one object of it, as a table",
            hint="masthead watch shows one kind live",
            code=ExitCode.USAGE,
        )
    follow(client, chosen[0], asked.selection, asked.options)
