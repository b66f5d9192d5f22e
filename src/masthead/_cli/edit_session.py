"""An edit: the objects in the editor, again and again, until the server takes them or the user gives up."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead._cli.creating import annotate_configuration
from masthead._cli.edited_text import Reason, add_header, compose, has_content, is_same, parse, strip_header
from masthead._cli.editor import open_in_editor, write_temporary
from masthead._cli.failures import CommandError, ExitCode, explain
from masthead._cli.subjects import gvr_of, resource_of
from masthead._cli.terminal import say, write
from masthead.errors import BadRequestError, DecodeError, NotFoundError, StatusError, UnprocessableError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import masthead
    from masthead._cli.subjects import ResultPrinter
    from masthead._client.options import FieldValidation
    from masthead._meta.patch import Patch
    from masthead._meta.plain import Plain

__all__ = ["EditOptions", "EditSession"]

_UNCHANGEABLE: Final = "at least one of apiVersion, kind, name and namespace was changed"


@dataclass(frozen=True, slots=True)
class EditOptions:
    """How objects are edited.

    Attributes:
        form: ``yaml`` or ``json``.
        subresource: The subresource that is edited; empty for the objects themselves.
        field_manager: Who changes them.
        field_validation: What the server does about unknown fields.
        saves_config: Whether the configuration is written into an annotation.
        prints_patch: Whether each patch is printed.
    """

    form: str
    subresource: str
    field_manager: str
    field_validation: FieldValidation
    saves_config: bool
    prints_patch: bool


@dataclass(slots=True)
class _Round:
    """What came of one text.

    Attributes:
        reasons: Why it is edited again.
        is_lost: Whether an object could not be changed for a reason that no edit removes.
    """

    reasons: list[Reason] = field(default_factory=list[Reason])
    is_lost: bool = False


class EditSession:
    """An edit of objects.

    Args:
        client: The client.
        objects: The objects, as the server has them.
        printer: Prints the results.
        options: How they are edited.
    """

    def __init__(
        self, client: masthead.Client, objects: Sequence[Plain], printer: ResultPrinter, options: EditOptions
    ) -> None:
        self._client = client
        self._objects = [_without_managed_fields(obj) for obj in objects]
        self._printer = printer
        self._options = options
        self._done: dict[str, Plain] = {}
        """The edited objects that the server has taken, by UID."""
        self._file: Path | None = None

    def run(self) -> int:
        """Open the editor until there is nothing left to correct.

        Raises:
            CommandError: If the edit has failed; the file stays, and is named.
            MastheadError: As any call.
        """
        try:
            return self._run()
        except Exception:
            if self._file is not None and self._file.exists():
                say(f'A copy of your changes has been stored to "{self._file}"')
            raise

    def _run(self) -> int:
        original = text = compose(self._objects, self._options.form)
        reasons: list[Reason] = []
        while True:
            edited = self._edit(text, reasons)
            # Without a change, the server would refuse it for ever.
            if reasons and is_same(edited, text):
                raise CommandError("Edit cancelled, no valid changes were saved.")
            if (cancelled := _cancellation(original, edited)) is not None:
                self._discard_file()
                say(cancelled)
                return ExitCode.OK
            done = self._save(edited)
            if done.is_lost:
                say(f'The edited file has been kept: "{self._file}"')
                return ExitCode.FAILED
            # Everything was taken, or skipped.
            if not done.reasons:
                self._discard_file()
                return ExitCode.OK
            # The user continues with this text, below new comments.
            text, reasons = strip_header(edited), done.reasons

    def _edit(self, text: str, reasons: Sequence[Reason]) -> str:
        """Open a text in the editor, and return what the user has made of it."""
        # JSON has no comments.
        shown = add_header(text, reasons) if self._options.form == "yaml" else text
        before, made = self._file, write_temporary(shown, f".{self._options.form}")
        try:
            open_in_editor(made)
            edited = made.read_text("utf-8")
        except (CommandError, OSError, UnicodeDecodeError) as error:
            # An unchanged file is worthless; the previous one has the changes.
            if made.read_bytes() == shown.encode("utf-8", "replace"):
                made.unlink()
            else:
                self._file = made
            if isinstance(error, UnicodeDecodeError):
                raise CommandError("the edited file is not text in UTF-8") from None
            raise
        self._file = made
        # The new file has everything that the one before had.
        if before is not None:
            before.unlink(missing_ok=True)
        return edited

    def _discard_file(self) -> None:
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def _save(self, text: str) -> _Round:
        """Change the objects on the server."""
        done = _Round()
        try:
            edited = parse(text)
        except DecodeError as error:
            done.reasons.append(Reason(f"The edited file had a syntax error: {error.problem}"))
            return done
        # All of them before the first request.
        pairs = [(self._original_of(obj), _without_managed_fields(obj)) for obj in edited]
        for original, obj in pairs:
            self._save_one(original, obj, done)
        return done

    def _original_of(self, edited: Plain) -> Plain:
        """The object that was edited.

        Raises:
            CommandError: If there is none with its UID, or its identity was changed.
        """
        uid = edited["metadata"].get("uid")
        original = next((obj for obj in self._objects if obj["metadata"].get("uid") == uid), None)
        if original is None:
            raise CommandError("an object in the edited file is none of those that were opened: its uid was changed")
        if _identity(original) != _identity(edited):
            raise CommandError(_UNCHANGEABLE, hint="masthead create -f FILE creates another object")
        return original

    def _save_one(self, original: Plain, edited: Plain, done: _Round) -> None:
        uid = original["metadata"].get("uid", "")
        # Before the comparison: the annotation is a change, too.
        if self._options.saves_config:
            annotate_configuration(edited)
        # Taken in an earlier round, or never touched.
        if edited in (original, self._done.get(uid)):
            self._printer.print(edited, "skipped")
            return
        patch = _difference(original, edited)
        if self._options.prints_patch:
            write(f"Patch: {json.dumps(json.loads(patch.body), separators=(',', ':'), ensure_ascii=False)}\n")
        try:
            after = self._send(original, patch)
        except StatusError as error:
            self._note(original, error, done)
            return
        self._done[uid] = edited
        self._printer.print(after, "edited")

    def _send(self, original: Plain, patch: Patch) -> Plain:
        return (
            resource_of(self._client, original)
            .patch(
                original["metadata"]["name"],
                patch,
                subresource=self._options.subresource,
                field_manager=self._options.field_manager,
                field_validation=self._options.field_validation,
            )
            .to_dict()
        )

    def _note(self, original: Plain, error: StatusError, done: _Round) -> None:
        """Say what the server has refused, and whether another edit may help."""
        name = f'{gvr_of(self._client, original).group_resource} "{original["metadata"]["name"]}"'
        if isinstance(error, UnprocessableError | BadRequestError):
            say(f"error: {name} is invalid")
            done.reasons.append(_reason(name, error))
            return
        # Another edit does not help: the object has been changed or deleted.
        done.is_lost = True
        if isinstance(error, NotFoundError):
            say(f"error: {name} could not be found on the server")
        else:
            say(f"error: {name} could not be patched: {explain(error).line}")


def _cancellation(original: str, edited: str) -> str | None:
    """What to say if there is nothing to do; None otherwise."""
    if is_same(original, edited):
        return "Edit cancelled, no changes made."
    return None if has_content(edited) else "Edit cancelled, saved file was empty."


def _reason(name: str, error: StatusError) -> Reason:
    causes = error.details.causes if error.details is not None else []
    # Causes without a field only repeat the message.
    details = tuple(f"{cause.field}: {cause.message}" for cause in causes if cause.field)
    return Reason(f"{name} was not valid", details or (error.message,))


def _identity(obj: Plain) -> tuple[object, ...]:
    metadata = obj["metadata"]
    return obj.get("apiVersion"), obj.get("kind"), metadata.get("name"), metadata.get("namespace")


def _without_managed_fields(obj: Plain) -> Plain:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}


def _difference(original: Plain, edited: Plain) -> Patch:
    """The patch from one state to the other: it leaves all other fields to their owners.

    Raises:
        CommandError: If an item of a list lacks the field that identifies it.
    """
    from masthead._client.last_applied import builtin_class
    from masthead._meta.gvk import GroupVersionKind
    from masthead._meta.patch import Patch, merge_patch
    from masthead._schema.merge_definitions import merge_rules_of
    from masthead._schema.merge_errors import StrategicMergeError
    from masthead._schema.strategic_diff import two_way_patch

    cls = builtin_class(GroupVersionKind.of(original["apiVersion"], original["kind"]))
    # Only kinds of Kubernetes itself can be merged strategically.
    if cls is None:
        return Patch.merge(merge_patch(original, edited))
    try:
        return Patch.strategic(two_way_patch(original, edited, merge_rules_of(cls)))
    except StrategicMergeError as error:
        raise CommandError(f"the change cannot be sent: {error}") from None
