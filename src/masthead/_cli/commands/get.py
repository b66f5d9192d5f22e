"""``masthead get``: objects of any kind, as kubectl prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import click

from masthead._cli.completion import complete_outputs, complete_references
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.manifest_files import file_options, read_sources, recursive_option
from masthead._cli.terminal import has_color

if TYPE_CHECKING:
    import masthead
    from masthead._cli.get_request import Chosen, GetRequest
    from masthead._cli.references import Selected
    from masthead._cli.shared_options import State
    from masthead._printers.table import PrintedTable

__all__ = ["command"]


@cluster_command("get", all_namespaces=True)
@click.argument("references", nargs=-1, metavar="KIND[/NAME] [NAME]...", shell_complete=complete_references)
@file_options
@recursive_option
@click.option("-l", "--selector", metavar="SELECTOR", help="only objects with these labels")
@click.option("--field-selector", metavar="SELECTOR", help="only objects with these fields")
@click.option(
    "-o",
    "--output",
    metavar="FORM",
    shell_complete=complete_outputs,
    help="wide, yaml, json, name, jsonpath=TEMPLATE, jsonpath-as-json=TEMPLATE, go-template=TEMPLATE or "
    "custom-columns=HEADER:PATH,...; or a file: jsonpath-file=, go-template-file=, custom-columns-file=",
)
@click.option("--template", default="", metavar="TEMPLATE", help="the template of -o; alone, a go-template")
@click.option(
    "--allow-missing-template-keys",
    "allows_missing",
    type=click.BOOL,
    default=True,
    metavar="BOOL",
    help="false: a field that does not exist is an error in templates",
)
@click.option("-w", "--watch", is_flag=True, help="go on with a line for each change")
@click.option("--watch-only", is_flag=True, help="a line for each change only")
@click.option("--output-watch-events", "events", is_flag=True, help="with -w: the type of each change")
@click.option("--ignore-not-found", is_flag=True, help="objects that do not exist are no error")
@click.option("--show-labels", is_flag=True, help="a column of all labels")
@click.option("-L", "--label-columns", multiple=True, metavar="LABEL", help="a column for this label")
@click.option("--show-kind", is_flag=True, help="the kind before each name")
@click.option("--sort-by", metavar="PATH", help="sort by this field, as JSONPath: .metadata.creationTimestamp")
@click.option("--no-headers", is_flag=True, help="no heading")
@click.option("--show-managed-fields", is_flag=True, help="keep managedFields in YAML and JSON")
@click.option("--subresource", default="", metavar="NAME", help="of named objects: status, scale or another one")
@click.option("--raw", metavar="PATH", help="print what the server returns for this path")
@click.option("--chunk-size", type=int, metavar="COUNT", help="objects per request of a list (500); 0: all at once")
@click.option(
    "--server-print",
    type=click.BOOL,
    default=True,
    metavar="BOOL",
    help="false: names and ages, without the server's columns",
)
@click.pass_obj
def command(
    state: State,
    references: tuple[str, ...],
    files: tuple[str, ...],
    kustomize: str | None,
    recursive: bool,
    selector: str | None,
    field_selector: str | None,
    output: str | None,
    template: str,
    allows_missing: bool,
    watch: bool,
    watch_only: bool,
    events: bool,
    ignore_not_found: bool,
    show_labels: bool,
    label_columns: tuple[str, ...],
    show_kind: bool,
    sort_by: str | None,
    no_headers: bool,
    show_managed_fields: bool,
    subresource: str,
    raw: str | None,
    chunk_size: int | None,
    server_print: bool,
) -> int:
    """Print objects as kubectl does.

    \b
    masthead get pods                      a table, with the server's columns
    masthead get deploy,svc -A -o wide     several kinds, in all namespaces
    masthead get pods web -o yaml          one object
    masthead get deploy/web svc/web        several, by name
    masthead get pods -l app=web -w        and a line for each change
    masthead get -f web.yaml               those of manifests
    masthead get --raw /readyz             any path of the server
    masthead get pods -o go-template='{{range .items}}{{.metadata.name}} {{end}}'
    """
    from masthead._cli.fetching import ObjectSelection
    from masthead._cli.get_printing import print_objects, print_tables
    from masthead._cli.get_request import GetRequest, choose
    from masthead._cli.outputs import parse_output
    from masthead._cli.tables import TableOptions

    form = parse_output(output, template=template, allows_missing=allows_missing, headers=not no_headers)
    if show_labels and not form.is_table:
        raise _usage(f"--show-labels is for tables, not for -o {output}")
    is_watch = watch or watch_only
    if events and not is_watch:
        raise _usage("--output-watch-events goes with -w or --watch-only")
    if raw is not None:
        others = (*references, *files, output or template, selector, field_selector)
        return _print_raw(state, raw, is_alone=not any(others) and not is_watch)
    sources = read_sources(files, kustomize, recursive=recursive)
    if sources and (references or selector or field_selector):
        raise _usage("-f excludes kinds, names and selectors")
    request = GetRequest(
        form,
        ObjectSelection(selector, field_selector, None if chunk_size is None else max(chunk_size, 0), subresource),
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
        ignore_not_found,
        server_print,
    )
    with state.connect() as client:
        chosen = choose(client, state, references, sources)
        _check(chosen, request)
        if is_watch:
            return _watch(client, chosen, request, events=events, only_changes=watch_only)
        if form.is_table:
            return print_tables(client, chosen, request)
        return print_objects(client, chosen, request)


def _usage(line: str, hint: str = "") -> CommandError:
    return CommandError(line, hint=hint, code=ExitCode.USAGE)


def _check(chosen: Chosen, request: GetRequest) -> None:
    selection = request.selection
    names = [selected.names for selected in chosen.resources]
    if any(names) and (selection.labels or selection.fields):
        raise _usage("a selector and names exclude each other")
    if selection.subresource and not all(names):
        raise _usage("--subresource is for objects that are named")


def _print_raw(state: State, path: str, *, is_alone: bool) -> int:
    """Print the response to a path, byte by byte."""
    from masthead._cli.raw_requests import print_raw

    if not is_alone:
        raise _usage("--raw is alone: it excludes names, selectors, -f, -o and -w")
    if not path.startswith("/"):
        raise _usage(f"--raw {path}: a path begins with a slash", hint="for example /version, or /api/v1/nodes")
    with state.connect() as client:
        print_raw(client, path)
    return ExitCode.OK


def _watch(client: masthead.Client, chosen: Chosen, request: GetRequest, *, events: bool, only_changes: bool) -> int:
    """Follow changes until the process is interrupted; return only if there is nothing to follow."""
    selected = chosen.resources[0]
    if len(chosen.resources) != 1 or len(selected.names) > 1 or request.selection.subresource:
        raise _usage("-w follows one kind, or one object of it", hint="masthead watch shows one kind live")
    try:
        _follow(client, selected, request, events=events, only_changes=only_changes)
    except CommandError as error:
        if request.ignore_not_found and error.code == ExitCode.NOT_FOUND:
            return ExitCode.OK
        raise


def _follow(
    client: masthead.Client, selected: Selected, request: GetRequest, *, events: bool, only_changes: bool
) -> NoReturn:
    if not request.output.is_table:
        from masthead._cli.following_objects import follow_objects

        follow_objects(client, selected, request, events=events, only_changes=only_changes)
    from masthead._cli.following import FollowOptions, follow
    from masthead._cli.get_printing import arrange

    def arranged(table: PrintedTable) -> PrintedTable:
        return arrange(table, selected, request, prefixed=False)

    follow(client, selected, request.selection, request.options, FollowOptions(events, only_changes, arranged))
