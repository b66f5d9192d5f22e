"""The part of each state of an object that tables and trees need, made once and held."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, flag, labels, part, text
from masthead._printers.custom import printer_of_version
from masthead._printers.kinds import NAME_AND_AGE, printer_for
from masthead._printers.layout import cell_text
from masthead._printers.status import Vitals, vitals_of
from masthead._recording.index import ObjectKey

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell, Printer
    from masthead._ui.history import HeldKind, History

__all__ = ["Digest", "Digests", "moment_of"]

_KEPT: Final = 100_000
_SLICE: Final = 50
"""How many digests are made before other requests have their turn."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DEFINITIONS: Final = "customresourcedefinitions"


def moment_of(time: int) -> datetime:
    """The moment of a time in microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=time)


@dataclass(frozen=True, slots=True)
class Digest:
    """What counts of a state of an object.

    Attributes:
        uid: Its uid.
        owners: The uids of its owners, its controller first.
        created: When it was created, as text.
        cells: Its cells.
        vitals: How it is.
        found_by: The text that filters search, in lower case.
        about: Of an Event, the object that it is about: uid, kind, namespace and name.
        is_deleting: Whether it is being deleted.
    """

    uid: str
    owners: tuple[str, ...]
    created: str
    cells: tuple[Cell, ...]
    vitals: Vitals
    found_by: str
    about: tuple[str, str, str, str] | None = None
    is_deleting: bool = False


class Digests:
    """Makes and keeps digests.

    Args:
        history: Where the objects are.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._kept: dict[int, Digest] = {}
        self._printers: dict[tuple[int, int | None], Printer] = {}
        self.extra_printers: dict[int, Printer] = {}

    def of(self, number: int, state: int) -> Digest:
        """The digest of a state.

        Args:
            number: The object.
            state: The position of the state.
        """
        found = self._kept.get(state)
        if found is None:
            found = self._make(number, state)
            # The oldest one: the states on the page were read lately.
            if len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[state] = found
        return found

    async def prepare(self, states: Iterable[tuple[int, int]]) -> None:
        """Make the digests of many states, between other requests."""
        made = 0
        for number, state in states:
            if state not in self._kept:
                self.of(number, state)
                made += 1
                if made % _SLICE == 0:
                    await asyncio.sleep(0)

    def printer(self, kind: int, position: int) -> Printer:
        """The printer of a kind at a position; a definition may change the columns of its kind."""
        held = self._history.kinds[kind]
        found = printer_for(held.group, held.kind)
        # Built-in kinds have no definition, and their groups no dot, apart from those of Kubernetes itself.
        if found is not NAME_AND_AGE or "." not in held.group:
            return found
        definition = self._definition(held, position)
        if definition is None:
            return self.extra_printers.get(kind, found)
        # By the state of the definition: after its change, the columns may be others.
        cached = self._printers.get((kind, definition[1]))
        if cached is None:
            cached = _printer_of(self._history.plain(*definition), held) or found
            self._printers[kind, definition[1]] = cached
        return cached

    def _definition(self, held: HeldKind, position: int) -> tuple[int, int] | None:
        """The definition of a custom resource at a position."""
        for kind, other in enumerate(self._history.kinds):
            if other.plural == _DEFINITIONS and other.group == "apiextensions.k8s.io":
                number = self._history.find(ObjectKey(kind, "", f"{held.plural}.{held.group}"))
                state = None if number is None else self._history.state(number, position)
                if number is not None and state is not None:
                    return number, state
        return None

    def _make(self, number: int, state: int) -> Digest:
        obj = self._history.plain(number, state)
        key = self._history.key(number)
        assert key is not None
        printer = self.printer(key.kind, state)
        cells = tuple(printer.cells(obj, moment_of(self._history.version(state).time)))
        metadata = part(obj, "metadata")
        # The cells of the row, and labels, by which people know their objects.
        words = [key.namespace, key.name, *map(cell_text, cells[1:])]
        words += (f"{name}={value}" for name, value in labels(metadata, "labels").items())
        # Of several owners, the controller manages the object: it comes first.
        owners = sorted(entries(metadata, "ownerReferences"), key=lambda owner: not flag(owner, "controller"))
        return Digest(
            text(metadata, "uid"),
            tuple(text(owner, "uid") for owner in owners),
            text(metadata, "creationTimestamp"),
            cells,
            vitals_of(printer.columns, cells),
            " ".join(words).lower(),
            _about(obj),
            is_deleting="deletionTimestamp" in metadata,
        )


def _about(obj: Plain) -> tuple[str, str, str, str] | None:
    # The core API and events.k8s.io name the field differently.
    for name in ("involvedObject", "regarding"):
        if found := part(obj, name):
            return text(found, "uid"), text(found, "kind"), text(found, "namespace"), text(found, "name")
    return None


def _printer_of(definition: Plain, held: HeldKind) -> Printer | None:
    versions = entries(part(definition, "spec"), "versions")
    return next((printer_of_version(each) for each in versions if text(each, "name") == held.version), None)
