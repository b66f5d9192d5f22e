"""The names of CustomResourceDefinitions: which of them are accepted, because no other definition has them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.conditions import (
    ESTABLISHED,
    NAMES_ACCEPTED,
    condition_of,
    find_condition,
    with_condition,
)
from masthead_server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

__all__ = ["AcceptedNames", "GroupNames", "names_status"]

_RESOURCES: Final = ("plural", "singular")
_KINDS: Final = ("kind", "listKind")


class GroupNames:
    """The names that the definitions of one group have been granted.

    Attributes:
        resources: Plurals, singulars and short names, with the number of their uses.
        kinds: Kinds and the kinds of lists.
        definitions: The names of the definitions.
    """

    def __init__(self) -> None:
        self.resources: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.definitions: dict[str, Plain] = {}

    @classmethod
    def of(cls, definitions: Iterable[Plain]) -> GroupNames:
        """Gather the names of definitions, which are all of one group."""
        names = cls()
        for definition in definitions:
            names.set(text(part(definition, "metadata"), "name"), part(part(definition, "status"), "acceptedNames"))
        return names

    def set(self, definition: str, accepted: Plain) -> None:
        """Replace the names of a definition."""
        # Old names are released first: a definition may swap its own names.
        self.remove(definition)
        self.definitions[definition] = accepted
        self._count(accepted, 1)

    def remove(self, definition: str) -> None:
        """Release the names of a definition, if it has any."""
        before = self.definitions.pop(definition, None)
        if before is not None:
            self._count(before, -1)

    def _count(self, accepted: Plain, change: int) -> None:
        resources = [text(accepted, resource) for resource in _RESOURCES]
        for item in [*resources, *(accepted.get("shortNames") or ())]:
            _add(self.resources, item, change)
        for name in _KINDS:
            _add(self.kinds, text(accepted, name), change)


class AcceptedNames:
    """The accepted names of all definitions, by group, updated with every change of a definition.

    Collecting them for each definition would take quadratic time.
    """

    def __init__(self) -> None:
        self._groups: dict[str, GroupNames] = {}

    def set(self, definition: Plain) -> None:
        """Take note of a definition that was created or changed."""
        group = self._groups.setdefault(text(part(definition, "spec"), "group"), GroupNames())
        name = text(part(definition, "metadata"), "name")
        group.set(name, part(part(definition, "status"), "acceptedNames"))

    def remove(self, name: str) -> None:
        """Take note of a definition that was deleted; its names are free again."""
        # A deleted definition is known by name only; validation guarantees that the name is plural and group.
        group = name.partition(".")[2]
        if names := self._groups.get(group):
            names.remove(name)
            # Groups come and go with their definitions; empty ones would leak.
            if not names.definitions:
                del self._groups[group]

    def of_group(self, group: str) -> GroupNames:
        """Return the names of a group."""
        return self._groups.get(group) or GroupNames()

    def neighbors(self, name: str) -> Iterator[str]:
        """Yield the other definitions of the same group: those to reconsider when this one releases names."""
        group = self.of_group(name.partition(".")[2])
        yield from (definition for definition in group.definitions if definition != name)


def names_status(definition: Plain, group: GroupNames, now: str) -> Plain | None:
    """Return the status of a definition after a comparison of its names with those in use.

    ``acceptedNames`` lists the free names, ``NamesAccepted`` is True if all names are free, and ``Established`` is
    False until `established_status` sets it.

    Args:
        definition: The definition. It is not changed.
        group: The accepted names of its group, its own among them: a definition cannot take its plural as its
            singular later.
        now: The time, as the API writes it.

    Returns:
        The status; None if it does not change.
    """
    wanted = part(part(definition, "spec"), "names")
    status = part(definition, "status")
    accepted = part(status, "acceptedNames")
    # The condition may lag behind, but no name is at stake: kube-apiserver's controller does nothing then, either.
    if _set_names(wanted) == _set_names(accepted):
        return None
    granted, condition = _grant(wanted, accepted, group)
    old = find_condition(definition, NAMES_ACCEPTED)
    is_same = old is not None and all(old.get(key) == condition[key] for key in ("status", "reason", "message"))
    if is_same and _set_names(granted) == _set_names(accepted):
        return None
    status = with_condition({"conditions": [], **status, "acceptedNames": granted}, condition, now)
    return with_condition(status, _establish(definition, is_accepted=condition["status"] == "True"), now)


def _establish(definition: Plain, *, is_accepted: bool) -> Plain:
    old = find_condition(definition, ESTABLISHED)
    if is_accepted and (old is None or old.get("status") != "True"):
        return condition_of(ESTABLISHED, "False", "Installing", "the initial names have been accepted")
    # An established definition remains established, even if it loses its names.
    return old or condition_of(ESTABLISHED, "False", "NotAccepted", "not all names are accepted")


def _grant(wanted: Plain, accepted: Plain, group: GroupNames) -> tuple[Plain, Plain]:
    """Return the accepted names, and the condition with the last conflict as its message."""
    names: Plain = dict(accepted)
    conflict: tuple[str, str] | None = None
    for field in _RESOURCES:
        if problem := _conflict(text(wanted, field), text(accepted, field), group.resources):
            # Later conflicts overwrite earlier ones, as in kube-apiserver: the condition holds one message.
            conflict = (f"{field.capitalize()}Conflict", problem)
        else:
            names[field] = text(wanted, field)
    if problem := _short_names_conflict(wanted, accepted, group.resources):
        conflict = ("ShortNamesConflict", problem)
    else:
        names["shortNames"] = wanted.get("shortNames")
    for field in _KINDS:
        if problem := _conflict(text(wanted, field), text(accepted, field), group.kinds):
            conflict = (f"{field[:1].upper()}{field[1:]}Conflict", problem)
        else:
            names[field] = text(wanted, field)
    # Categories are shared by design, and cannot conflict.
    names["categories"] = wanted.get("categories")
    # Plural and kind are written even if they are not granted.
    granted = {key: names.get(key) or "" for key in _ORDER if names.get(key) or key in ("plural", "kind")}
    if conflict is None:
        return granted, condition_of(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")
    return granted, condition_of(NAMES_ACCEPTED, "False", *conflict)


_ORDER: Final = ("plural", "singular", "shortNames", "kind", "listKind", "categories")


def _short_names_conflict(wanted: Plain, accepted: Plain, used: Counter[str]) -> str:
    own = accepted.get("shortNames") or ()
    # Short names already granted to this definition are its own uses, not conflicts.
    found = [_conflict(short_name, "", used) for short_name in wanted.get("shortNames") or () if short_name not in own]
    problems = list(dict.fromkeys(filter(None, found)))
    # Go's aggregate prints a single error bare, and several in brackets, without repetitions.
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]" if problems else ""


def _conflict(wanted: str, accepted: str, used: Container[str]) -> str:
    return "" if wanted == accepted or wanted not in used else f"{quoted(wanted)} is already in use"


def _set_names(names: Plain) -> Plain:
    return {key: value for key, value in names.items() if value}


def _add(counts: Counter[str], name: str, change: int) -> None:
    counts[name] += change
    if counts[name] <= 0:
        del counts[name]
