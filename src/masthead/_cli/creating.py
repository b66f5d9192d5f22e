"""Objects that commands generate from options: how they are sent, or printed without a server."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeVar

import click

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.go_json import encode
from masthead._cli.manifest_files import is_dry_run, local_dry_run_option
from masthead._cli.subjects import ResultPrinter, output_option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import masthead
    from masthead._cli.shared_options import State
    from masthead._client.options import FieldValidation, WriteArguments
    from masthead._meta.plain import Plain

__all__ = [
    "CreationArguments",
    "annotate_configuration",
    "creation_options",
    "make_metadata",
    "print_generated",
    "printer_of",
    "refuse",
    "send_generated",
    "split_list",
    "validate_option",
    "validation_of",
    "write_arguments",
]

F = TypeVar("F", bound="Callable[..., Any]")

_VALIDATIONS: Final[dict[str, FieldValidation]] = {
    "strict": "Strict",
    "warn": "Warn",
    "ignore": "Ignore",
    # Older forms of kubectl, which scripts have.
    "true": "Strict",
    "false": "Ignore",
}


class CreationArguments(TypedDict):
    """What `creation_options` add to a function."""

    dry_run: str
    output: str | None
    validate: str
    save_config: bool
    field_manager: str
    show_managed_fields: bool


def creation_options(function: F) -> F:
    """Add the options of commands that create objects; the function gets `CreationArguments`."""
    for option in (
        click.option(
            "--show-managed-fields", is_flag=True, help="with -o yaml or json: print metadata.managedFields, too"
        ),
        click.option(
            "--field-manager", default="masthead-create", show_default=True, metavar="NAME", help="who creates it"
        ),
        click.option(
            "--save-config", is_flag=True, help="keep the configuration in an annotation, for apply --client-side"
        ),
        validate_option,
        output_option,
        local_dry_run_option,
    ):
        function = option(function)
    return function


def validate_option(function: F) -> F:
    """Add ``--validate``; the function gets ``validate``, for `validation_of`."""
    return click.option(
        "--validate",
        type=_Validation(["strict", "warn", "ignore"]),
        default="strict",
        show_default=True,
        help="what the server does about unknown fields",
    )(function)


def validation_of(value: str) -> FieldValidation:
    """What the server is asked for by a value of ``--validate``."""
    return _VALIDATIONS[value]


class _Validation(click.Choice[str]):
    """What ``--validate`` takes: also the booleans that older scripts have."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - as click declares it
        return value if value in _VALIDATIONS else super().convert(value, param, ctx)


def split_list(_: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """The callback of options with lists: each may be repeated, and hold several values, separated by commas.

    Raises:
        click.BadParameter: If the quotes of a value do not match.
    """
    try:
        return tuple(part for line in csv.reader(values, strict=True) for part in line)
    except csv.Error as error:
        raise click.BadParameter(str(error), param=param) from None


def refuse(line: str, hint: str = "") -> CommandError:
    """The error for a wrong argument."""
    return CommandError(line, hint=hint, code=ExitCode.USAGE)


def make_metadata(
    name: str,
    namespace: str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Plain:
    """Metadata in Go's order of fields, without empty ones."""
    # Go omits empty values.
    fields = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
    return {field: value for field, value in fields.items() if value}


def printer_of(options: CreationArguments) -> ResultPrinter:
    """The printer of created objects.

    Raises:
        CommandError: If there is no such form.
    """
    return ResultPrinter(
        options["output"],
        options["dry_run"],
        show_managed_fields=options["show_managed_fields"],
        keeps_order=True,
    )


def write_arguments(options: CreationArguments) -> WriteArguments:
    """The arguments of the request that creates an object."""
    return {
        "dry_run": is_dry_run(options["dry_run"]),
        "field_manager": options["field_manager"],
        "field_validation": validation_of(options["validate"]),
    }


def print_generated(state: State, obj: Plain, options: CreationArguments) -> int:
    """Create a generated object, and print the result; with ``--dry-run=client``, only print it.

    Raises:
        CommandError: If an option is wrong.
        MastheadError: As any call.
    """
    printer = printer_of(options)
    if options["save_config"]:
        annotate_configuration(obj)
    if options["dry_run"] == "client":
        printer.print(obj, "created")
        return ExitCode.OK
    with state.connect() as client:
        printer.print(send_generated(client, obj, options), "created")
    return ExitCode.OK


def send_generated(client: masthead.Client, obj: Plain, options: CreationArguments) -> Plain:
    """Create an object in its namespace, or in that of the client, and return it.

    Raises:
        CommandError: If the namespace does not exist.
        MastheadError: As any call.
    """
    from masthead._cli.references import refuse_missing_namespace
    from masthead._meta.gvk import GroupVersionKind
    from masthead.errors import NotFoundError

    # Its scope decides about the path.
    resource = client.mapper.kind(GroupVersionKind.of(obj["apiVersion"], obj["kind"]))
    namespace = (obj["metadata"].get("namespace") or client.namespace) if resource.namespaced else None
    try:
        return (
            client.dynamic(obj["apiVersion"], obj["kind"], namespace=namespace)
            .create(obj, **write_arguments(options))
            .to_dict()
        )
    except NotFoundError:
        # The server reports a missing namespace as a missing object.
        if namespace:
            refuse_missing_namespace(client, namespace)
        raise


def annotate_configuration(obj: Plain) -> None:
    """Write the configuration of an object into its annotation, as ``kubectl create --save-config`` does."""
    from masthead._client.last_applied import LAST_APPLIED

    metadata = obj["metadata"]
    annotations = {key: value for key, value in metadata.get("annotations", {}).items() if key != LAST_APPLIED}
    # Annotations last, which is their place in Go.
    before = {key: value for key, value in metadata.items() if key != "annotations"}
    written = {**obj, "metadata": {**before, **({"annotations": annotations} if annotations else {})}}
    metadata["annotations"] = {**annotations, LAST_APPLIED: encode(written) + "\n"}
