"""Changes of labels and annotations, ``KEY=VALUE`` and ``KEY-``, for ``label`` and ``annotate``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict, TypeVar

import click

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.manifest_files import is_dry_run
from masthead._cli.subjects import ResultPrinter, find_subjects, line_name, resource_of
from masthead._cli.terminal import say, write
from masthead._meta.names import check_label_value, check_qualified_name
from masthead._meta.patch import Patch
from masthead._meta.plain import labels as text_values
from masthead._meta.plain import part
from masthead.errors import NameFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import masthead
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["ChangeArguments", "MetadataChange", "change_options", "run_change", "split_changes"]

F = TypeVar("F", bound="Callable[..., Any]")
Word: TypeAlias = Literal["label", "annotation"]
_PLURAL: Final = {"label": "labels", "annotation": "annotations"}
_DONE: Final = {"label": "labeled", "annotation": "annotated"}


@dataclass(frozen=True, slots=True)
class MetadataChange:
    """A change of labels or annotations.

    Attributes:
        word: ``label`` or ``annotation``.
        values: The new values, and None for keys to remove.
        overwrites: Whether existing values may change.
        resource_version: Required version of the only object; None for any.
        lists: Whether the values are printed instead.
    """

    word: Word
    values: Mapping[str, str | None]
    overwrites: bool = False
    resource_version: str | None = None
    lists: bool = False

    @property
    def field(self) -> str:
        """The field of the metadata."""
        return _PLURAL[self.word]

    def check(self) -> None:
        """Check the keys and, of labels, the values, before anything is sent.

        Raises:
            CommandError: If one is invalid, or there is nothing to change.
        """
        # With both, it would be unclear whether the list is from before or after the change.
        if bool(self.values) == self.lists:
            raise CommandError(
                f"--list excludes changes of {self.field}" if self.lists else "there is nothing to change",
                hint="" if self.lists else f"KEY=VALUE sets {self.word} KEY, KEY- removes it",
                code=ExitCode.USAGE,
            )
        try:
            for key, value in self.values.items():
                check_qualified_name(key)
                # Values of annotations may be any text.
                if self.word == "label" and value:
                    check_label_value(value)
        except NameFormatError as error:
            raise CommandError(str(error), code=ExitCode.USAGE) from None

    def refuse_overwriting(self, subject: Plain, before: Mapping[str, str]) -> None:
        """Refuse to replace an existing value without ``--overwrite``.

        Raises:
            CommandError: If so.
        """
        for key, value in self.values.items():
            # Removals and equal values replace nothing.
            if not self.overwrites and value is not None and before.get(key, value) != value:
                raise CommandError(
                    f"{line_name(subject)} already has the {self.word} {key}={before[key]}",
                    hint="replace the value with --overwrite",
                )

    def describe(self, before: Mapping[str, str], after: Mapping[str, str]) -> str:
        """Return the outcome in kubectl's words."""
        # kubectl prints it even if nothing has changed.
        if self.word == "annotation":
            return _DONE[self.word]
        if before == after:
            return "not labeled"
        # As kubectl words it: with --overwrite, a removal is a change like any other.
        return "unlabeled" if len(after) < len(before) and not self.overwrites else "labeled"


def split_changes(words: Sequence[str]) -> tuple[list[str], dict[str, str | None]]:
    """Split arguments into object names and the changes after them.

    Raises:
        CommandError: If an object comes after a change, or a key is both set and removed.
    """
    references: list[str] = []
    changes: dict[str, str | None] = {}
    for word in words:
        key, equals, value = word.partition("=")
        is_removal = not equals and word.endswith("-")
        # Names of objects come before the changes.
        if not equals and not is_removal:
            if changes:
                raise CommandError(f"{word!r} is neither KEY=VALUE nor KEY-", code=ExitCode.USAGE)
            references.append(word)
            continue
        name = word[:-1] if is_removal else key
        # As in kubectl, the last of two values wins.
        if name in changes and (changes[name] is None) != is_removal:
            raise CommandError(f"{name} is both set and removed", code=ExitCode.USAGE)
        changes[name] = None if is_removal else value
    return references, changes


def change_options(function: F) -> F:
    """Add the options of both commands."""
    for option in (
        click.option("--list", "lists", is_flag=True, help="print the values, and change nothing"),
        click.option("--resource-version", metavar="VERSION", help="change the only object if it has this version"),
        click.option("--overwrite", "overwrites", is_flag=True, help="replace existing values"),
    ):
        function = option(function)
    return function


class ChangeArguments(TypedDict):
    """The arguments of both commands."""

    words: tuple[str, ...]
    files: tuple[str, ...]
    kustomize: str | None
    selector: str | None
    is_all: bool
    overwrites: bool
    resource_version: str | None
    lists: bool
    dry_run: str
    output: str | None


def run_change(state: State, word: Word, arguments: ChangeArguments) -> int:
    """Run the command: change the labels or annotations of objects, with a line for each, or list them.

    Raises:
        CommandError: If arguments are wrong, or a value may not be replaced.
        MastheadError: As any call.
    """
    references, values = split_changes(arguments["words"])
    change = MetadataChange(
        word, values, arguments["overwrites"], arguments["resource_version"], lists=arguments["lists"]
    )
    change.check()
    printer = ResultPrinter(arguments["output"], arguments["dry_run"])
    with state.connect() as client:
        subjects = find_subjects(
            client,
            state,
            references,
            files=arguments["files"],
            kustomize=arguments["kustomize"],
            selector=arguments["selector"],
            is_all=arguments["is_all"],
        )
        # Every object has another version.
        if change.resource_version and len(subjects) > 1:
            raise CommandError("--resource-version is for one object", code=ExitCode.USAGE)
        for subject in subjects:
            if change.lists:
                _list_values(client, subject, change, names_object=len(subjects) > 1)
            else:
                _change(client, subject, change, printer, dry_run=is_dry_run(arguments["dry_run"]))
    return ExitCode.OK


def _list_values(client: masthead.Client, subject: Plain, change: MetadataChange, *, names_object: bool) -> None:
    if names_object:
        write(f"Listing {change.field} for {line_name(subject)}:\n")
    write("".join(f"{key}={value}\n" for key, value in sorted(_read(client, subject, change).items())))


def _change(
    client: masthead.Client, subject: Plain, change: MetadataChange, printer: ResultPrinter, *, dry_run: bool
) -> None:
    before = _read(client, subject, change)
    change.refuse_overwriting(subject, before)
    for key, value in change.values.items():
        # No error: a script may run twice.
        if value is None and key not in before:
            say(f'{change.word} "{key}" not found.')
    metadata: Plain = {change.field: dict(change.values)}
    if change.resource_version:
        metadata["resourceVersion"] = change.resource_version
    # Unlike an update, a patch leaves the changes of others alone.
    patch = Patch.merge({"metadata": metadata})
    after = resource_of(client, subject).patch(subject["metadata"]["name"], patch, dry_run=dry_run).to_dict()
    printer.print(after, change.describe(before, text_values(part(after, "metadata"), change.field)))


def _read(client: masthead.Client, subject: Plain, change: MetadataChange) -> dict[str, str]:
    # Whole objects: a patch is answered with one anyway.
    metadata = resource_of(client, subject).get(subject["metadata"]["name"]).to_dict()["metadata"]
    return text_values(metadata, change.field)
