"""Targets of writing commands, from arguments or manifests, and the printed results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from masthead._cli.completion import complete_outputs, complete_references
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.manifest_files import dry_run_option, file_options, read_sources
from masthead._cli.outputs import parse_output
from masthead._cli.terminal import write, write_data
from masthead._meta.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import masthead
    from masthead._cli.outputs import Output
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain
    from masthead.clientset import DynamicResource

__all__ = [
    "ResultPrinter",
    "find_subjects",
    "gvr_of",
    "line_name",
    "output_option",
    "references_argument",
    "resource_of",
    "selection_options",
    "write_options",
]

F = TypeVar("F", bound="Callable[..., Any]")


def selection_options(function: F) -> F:
    """Add the arguments that select objects: ``references``, ``files``, ``kustomize``, ``selector`` and ``is_all``."""
    for option in (
        click.option("--all", "is_all", is_flag=True, help="all objects of the kind"),
        click.option("-l", "--selector", metavar="SELECTOR", help="objects with these labels"),
        file_options,
    ):
        function = option(function)
    return function


def references_argument(function: F) -> F:
    """Add the arguments that name objects, as ``references``."""
    return click.argument(
        "references", nargs=-1, metavar="[KIND[/NAME] [NAME]...]", shell_complete=complete_references
    )(function)


def output_option(function: F) -> F:
    """Add ``-o``; the function gets ``output``."""
    return click.option(
        "-o",
        "--output",
        metavar="FORM",
        shell_complete=complete_outputs,
        help="print the result as yaml, json, name, jsonpath=TEMPLATE or go-template=TEMPLATE",
    )(function)


def write_options(function: F) -> F:
    """Add ``--dry-run`` and ``-o``; the function gets ``dry_run`` and ``output``."""
    return dry_run_option(output_option(function))


def find_subjects(
    client: masthead.Client,
    state: State,
    references: Sequence[str],
    *,
    files: Sequence[str] = (),
    kustomize: str | None = None,
    selector: str | None = None,
    is_all: bool = False,
    must_exist: bool = False,
) -> list[Plain]:
    """Return the identity of each object: apiVersion, kind, name and namespace.

    Args:
        client: The client.
        state: The shared options.
        references: The arguments that name objects.
        files: The manifests.
        kustomize: The value of ``-k``.
        selector: Only objects with these labels.
        is_all: Whether all objects of a kind are meant.
        must_exist: Whether objects that arguments name are looked up.

    Raises:
        CommandError: If nothing is named, objects are named in two ways, or one must exist and does not.
        MastheadError: As any call.
    """
    from masthead._cli.identities import objects_of

    sources = read_sources(files, kustomize)
    # With a name and a manifest, the object would be ambiguous.
    if bool(sources) == bool(references):
        raise CommandError("name objects, or manifests with -f", code=ExitCode.USAGE)
    if not sources:
        return objects_of(client, state, references, selector=selector, is_all=is_all, must_exist=must_exist)
    from masthead._client.documents import load_manifests

    found: list[Plain] = []
    for obj in load_manifests(sources):
        metadata = {"name": obj.metadata.name, "namespace": obj.metadata.namespace}
        if client.mapper.kind(obj.gvk).namespaced:
            # As kubectl does; that of the manifest counts before.
            metadata["namespace"] = metadata["namespace"] or client.namespace
        found.append({"apiVersion": obj.gvk.api_version, "kind": obj.gvk.kind, "metadata": metadata})
    return found


def resource_of(client: masthead.Client, subject: Plain) -> DynamicResource:
    """Return a client of the object's resource."""
    return client.dynamic(subject["apiVersion"], subject["kind"], namespace=subject["metadata"].get("namespace"))


def gvr_of(client: masthead.Client, subject: Plain) -> masthead.meta.GroupVersionResource:
    """The group, version and resource of an object."""
    from masthead._meta.gvk import GroupVersionKind

    return client.mapper.kind(GroupVersionKind.of(subject["apiVersion"], subject["kind"])).gvr


def line_name(obj: Plain) -> str:
    """An object as kubectl names it in lines: ``deployment.apps/web``."""
    # The version does not matter to a reader, the group does.
    group = text(obj, "apiVersion").rpartition("/")[0]
    kind = text(obj, "kind").lower()
    return f"{kind}.{group}/{text(part(obj, 'metadata'), 'name')}" if group else f"{kind}/{obj['metadata']['name']}"


class ResultPrinter:
    """Prints the results of a command: a line per object, or the objects themselves.

    Args:
        output: The value of ``-o``; None for lines.
        dry_run: The value of ``--dry-run``.
        show_managed_fields: Whether ``metadata.managedFields`` are printed.
        keeps_order: Whether JSON keeps the order of fields.

    Raises:
        CommandError: If there is no such form.
    """

    def __init__(
        self,
        output: str | None,
        dry_run: str = "none",
        *,
        show_managed_fields: bool = False,
        keeps_order: bool = False,
    ) -> None:
        self._output: Output = parse_output(output or "table", keeps_order=keeps_order)
        # The result of a write has no table on the server.
        if self._output.form == "wide":
            raise CommandError("-o wide is for tables", code=ExitCode.USAGE)
        self._suffix = {"server": " (server dry run)", "client": " (dry run)"}.get(dry_run, "")
        self._show_managed_fields = show_managed_fields
        self._count = 0

    def print(self, obj: Plain, done: str) -> None:
        """Print the result for one object.

        Args:
            obj: The object, as the server returned it.
            done: The change, such as ``scaled``.
        """
        if self._output.form == "table":
            write(f"{line_name(obj)} {done}{self._suffix}\n")
        elif self._output.form == "name":
            write(f"{line_name(obj)}\n")
        else:
            self._print_object(obj)

    def _print_object(self, obj: Plain) -> None:
        shown = dict(obj)
        # The caller's object must not change.
        if not self._show_managed_fields and "metadata" in shown:
            shown["metadata"] = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
        rendered = self._output.render(shown)
        # Several documents of YAML need a line between them; JSON objects do not.
        is_next_document = self._count and not self._output.is_data and not rendered.startswith("{")
        self._count += 1
        (write_data if self._output.is_data else write)(f"---\n{rendered}" if is_next_document else rendered)
