"""The difference that applying would make, object by object, and its text as ``kubectl diff`` prints it."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast, overload

from masthead._client.last_applied import LAST_APPLIED
from masthead._client.line_diffs import unified_diff
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._meta.plain import Plain
    from masthead._meta.unstructured import Unstructured
    from masthead.errors import ApplyConflictError


__all__ = ["DiffOutcome", "DiffResult", "ObjectDiff"]

DiffOutcome: TypeAlias = Literal["created", "changed", "unchanged", "pruned"]
"""What an apply would do to an object."""

_MASK: Final = "***"
_MASK_BEFORE: Final = "*** (before)"
_MASK_AFTER: Final = "*** (after)"
_RESET: Final = "\x1b[0m"
_COLORS: Final = (
    # The headers come first: they begin with the characters of added and removed lines.
    (("diff ", "--- ", "+++ "), "\x1b[1m"),
    (("@@",), "\x1b[36m"),
    (("#",), "\x1b[33m"),
    (("-",), "\x1b[31m"),
    (("+",), "\x1b[32m"),
)


@set_module("masthead.manifests")
@dataclass(frozen=True, slots=True, repr=False)
class ObjectDiff:
    """The difference that an apply would make to one object.

    Attributes:
        before: The current object; None if it does not exist.
        after: The object as it would be; None if it would be pruned.
        conflict: Why the apply would be refused, if other managers own some of the fields; `after` is then what
            ``force=True`` would make of the object.
    """

    before: Unstructured | None
    after: Unstructured | None
    conflict: ApplyConflictError | None = None

    @property
    def outcome(self) -> DiffOutcome:
        """What would be done: ``created``, ``changed``, ``unchanged`` or ``pruned``.

        A change of ``metadata.managedFields`` alone does not count.
        """
        if self.before is None:
            return "created"
        if self.after is None:
            return "pruned"
        # Without managed fields, whose timestamps an apply may change alone.
        is_same = _plain(self.before) == _plain(self.after)
        return "unchanged" if is_same else "changed"

    @property
    def has_changes(self) -> bool:
        """Whether the apply would change anything, or be refused."""
        return self.outcome != "unchanged" or self.conflict is not None

    @property
    def text(self) -> str:
        """The difference as plain text, with the defaults of `format`; empty without a difference."""
        return self.format(color=False)

    def format(
        self,
        *,
        color: bool | None = None,
        show_managed_fields: bool = False,
        show_secrets: bool = False,
        context: int = 3,
    ) -> str:
        """Return the difference as a unified diff of YAML; empty without a difference.

        Args:
            color: Whether it is coloured by ANSI escape sequences; None for yes if standard output is a terminal and
                ``NO_COLOR`` is not set.
            show_managed_fields: Whether ``metadata.managedFields`` are compared, too.
            show_secrets: Whether to print the values of Secrets; otherwise they are masked.
            context: How many unchanged lines surround a change.
        """
        before, after = (
            None if obj is None else _plain(obj, keeps_managed_fields=show_managed_fields)
            for obj in (self.before, self.after)
        )
        if not show_secrets and _is_secret(self._obj):
            before, after = mask_secrets(before, after)
        lines = [*self._conflict_lines(), *_unify(_file_name(self._obj), before, after, context)]
        return "".join(_color(lines) if _is_colored(color) else lines)

    def _conflict_lines(self) -> list[str]:
        if self.conflict is None:
            return []
        head = f"# {self._obj.kind} {self._obj.key} conflicts; shown is what a forced apply would do:\n"
        return [head, *(f"#   {conflict.field}: {conflict.message}\n" for conflict in self.conflict.conflicts)]

    @property
    def _obj(self) -> Unstructured:
        return cast("Unstructured", self.after if self.after is not None else self.before)

    def __repr__(self) -> str:
        return f"ObjectDiff({self._obj.kind} {self._obj.key}: {self.outcome})"


@set_module("masthead.manifests")
class DiffResult(Sequence[ObjectDiff]):
    """The differences that an apply of manifests would make, in the order of application."""

    def __init__(self, diffs: Iterable[ObjectDiff]) -> None:
        """Create a result of differences."""
        self._diffs = tuple(diffs)

    @overload
    def __getitem__(self, index: int) -> ObjectDiff: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ObjectDiff]: ...
    def __getitem__(self, index: int | slice) -> ObjectDiff | Sequence[ObjectDiff]:
        return self._diffs[index]

    def __len__(self) -> int:
        return len(self._diffs)

    @property
    def has_changes(self) -> bool:
        """Whether the apply would change anything, or be refused; ``kubectl diff`` exits with 1 then."""
        return any(diff.has_changes for diff in self._diffs)

    @property
    def text(self) -> str:
        """All differences as plain text, with the defaults of `format`; empty if there are none."""
        return self.format(color=False)

    def format(
        self,
        *,
        color: bool | None = None,
        show_managed_fields: bool = False,
        show_secrets: bool = False,
        context: int = 3,
    ) -> str:
        """Return all differences as one text, empty for none. The arguments are those of `ObjectDiff.format`."""
        return "".join(
            diff.format(
                color=color,
                show_managed_fields=show_managed_fields,
                show_secrets=show_secrets,
                context=context,
            )
            for diff in self._diffs
        )

    def __repr__(self) -> str:
        return f"DiffResult({', '.join(map(repr, self._diffs))})"


def mask_secrets(before: Plain | None, after: Plain | None) -> tuple[Plain | None, Plain | None]:
    """Mask the values of a Secret; the masks show which values differ.

    Args:
        before: The Secret before; None if it does not exist.
        after: The Secret after; None if it would be pruned.

    Returns:
        Masked copies.
    """
    # differs from kubectl: the annotation of client-side apply, which repeats all values, is masked, too.
    sides = copy.deepcopy((before, after))
    for section in (("data",), ("stringData",), ("metadata", "annotations")):
        old, new = (_section(side, section) for side in sides)
        # Of the annotations, only that one contains the data of the Secret.
        names = {LAST_APPLIED} if section[-1] == "annotations" else {*old, *new}
        for name in names:
            # The reader learns that a value changed, and not which value it has.
            differs = name in old and name in new and old[name] != new[name]
            if name in old:
                old[name] = _MASK_BEFORE if differs else _MASK
            if name in new:
                new[name] = _MASK_AFTER if differs else _MASK
    return sides


def _section(side: Plain | None, path: tuple[str, ...]) -> Plain:
    found: Plain = side or {}
    for step in path:
        below: object = found.get(step)
        found = cast("Plain", below) if isinstance(below, dict) else {}
    return found


def _plain(obj: Unstructured, *, keeps_managed_fields: bool = False) -> Plain:
    plain: Plain = obj.to_dict()
    if not keeps_managed_fields:
        plain.get("metadata", {}).pop("managedFields", None)
    return plain


def _is_secret(obj: Unstructured) -> bool:
    return (obj.api_version, obj.kind) == ("v1", "Secret")


def _file_name(obj: Unstructured) -> str:
    """The name that kubectl gives the file of an object: ``apps.v1.Deployment.default.web``."""
    gvk = obj.gvk
    group = f"{gvk.group}." if gvk.group else ""
    return f"{group}{gvk.version}.{gvk.kind}.{obj.metadata.namespace}.{obj.metadata.name}"


def _unify(name: str, before: Plain | None, after: Plain | None, context: int) -> list[str]:
    old, new = _yaml_lines(before), _yaml_lines(after)
    # The names of kubectl diff, which scripts and highlighters know.
    live, merged = f"LIVE/{name}", f"MERGED/{name}"
    lines = unified_diff(old, new, (live, merged), context)
    return [f"diff -u -N {live} {merged}\n", *lines] if lines else []


def _yaml_lines(plain: Plain | None) -> list[str]:
    from masthead._meta import yaml  # most clients compare nothing: PyYAML takes 10 ms to import

    return [] if plain is None else yaml.dump(_sort_keys(plain)).splitlines(keepends=True)


def _sort_keys(value: object) -> object:
    """The same data with the keys of all maps in order, as kubectl prints them."""
    if isinstance(value, dict):
        return {key: _sort_keys(item) for key, item in sorted(cast("Plain", value).items())}
    if isinstance(value, list):
        return [_sort_keys(item) for item in cast("list[object]", value)]
    return value


def _is_colored(wanted: bool | None) -> bool:
    if wanted is not None:
        return wanted
    # The convention of no-color.org.
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _color(lines: Iterable[str]) -> list[str]:
    return [f"{_color_of(line)}{line.rstrip()}{_RESET}\n" if _color_of(line) else line for line in lines]


def _color_of(line: str) -> str:
    return next((color for starts, color in _COLORS if line.startswith(starts)), "")
