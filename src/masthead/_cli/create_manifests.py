"""``masthead create -f``: creates the objects of manifests, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._cli.creating import annotate_configuration, printer_of, refuse, send_generated
from masthead._cli.failures import ExitCode, explain
from masthead._cli.terminal import report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import masthead
    from masthead._cli.creating import CreationArguments
    from masthead._cli.manifest_files import StandardInput
    from masthead._cli.shared_options import State
    from masthead._cli.subjects import ResultPrinter
    from masthead._meta.plain import Plain

__all__ = ["create_manifests"]


def create_manifests(
    state: State, sources: Sequence[Path | StandardInput], selector: str | None, options: CreationArguments
) -> int:
    """Create the objects of manifests, and print each; an error of one does not keep the others from being created.

    Raises:
        CommandError: If an option is wrong, or there is nothing to create.
        ManifestError: If a manifest cannot be read.
        MastheadError: If there is no connection.
    """
    printer = printer_of(options)
    objects = _read(sources, selector)
    # Before the first request: otherwise half of them would exist.
    _refuse_other_namespaces(objects, state.namespace)
    if options["dry_run"] == "client":
        _print_locally(state, objects, printer, options)
        return ExitCode.OK
    with state.connect() as client:
        return _create(client, objects, printer, options)


def _read(sources: Sequence[Path | StandardInput], selector: str | None) -> list[Plain]:
    from masthead._client.documents import load_manifests
    from masthead._meta import labels
    from masthead.errors import SelectorError

    try:
        chosen = labels.parse(selector or "")
    except SelectorError as error:
        raise refuse(f"-l: {error}") from None
    found = [obj.to_dict() for obj in load_manifests(sources) if chosen.matches(obj.metadata.labels)]
    # An empty folder or a wrong selector would otherwise look like success.
    if not found:
        raise refuse("there are no objects in the manifests" + (f" with the labels {selector}" if selector else ""))
    return found


def _refuse_other_namespaces(objects: Sequence[Plain], namespace: str | None) -> None:
    for obj in objects:
        named = obj["metadata"].get("namespace")
        if namespace and named and named != namespace:
            raise refuse(
                f"{obj['kind']} {obj['metadata'].get('name', '')} is in namespace {named}, not in {namespace}",
                hint="leave out -n, or take the namespace out of the manifest",
            )


def _create(
    client: masthead.Client, objects: Sequence[Plain], printer: ResultPrinter, options: CreationArguments
) -> int:
    from masthead.errors import StatusError, UnknownKindError

    first: ExitCode = ExitCode.OK
    for obj in objects:
        if options["save_config"]:
            annotate_configuration(obj)
        try:
            created = send_generated(client, obj, options)
        # Errors about this object alone; without a connection, the others would fail, too.
        except (StatusError, UnknownKindError) as error:
            failure = explain(error)
            report("masthead create", failure)
            first = first or failure.code
        else:
            printer.print(created, "created")
    return first


def _print_locally(state: State, objects: Sequence[Plain], printer: ResultPrinter, options: CreationArguments) -> None:
    namespace = _namespace_of(state)
    for obj in objects:
        # kubectl prints the namespace that the server would choose.
        if _is_namespaced(obj) and not obj["metadata"].get("namespace"):
            obj["metadata"]["namespace"] = namespace
        if options["save_config"]:
            annotate_configuration(obj)
        printer.print(obj, "created")


def _namespace_of(state: State) -> str:
    """The namespace that objects without one would get."""
    from masthead.errors import ConfigError

    try:
        return state.namespace or state.config().namespace or "default"
    # Nothing is sent, so that it takes no kubeconfig.
    except ConfigError:
        return "default"


def _is_namespaced(obj: Plain) -> bool:
    """Whether objects of a kind are in namespaces, as far as this is known without a server."""
    from masthead._client.documents import known_kind
    from masthead._meta.gvk import GroupVersionKind

    scope = known_kind(GroupVersionKind.of(obj["apiVersion"], obj["kind"]))
    # Most custom resources are.
    return scope is None or scope.namespaced
