"""What `apply_manifests` did, object by object, in kubectl's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, overload

from masthead._meta.unstructured import Unstructured
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ApplyOutcome", "ApplyResult", "outcome_of"]

_BOOKKEEPING: Final = frozenset({"managedFields", "resourceVersion"})
ApplyOutcome: TypeAlias = Literal["created", "configured", "unchanged"]
"""What an apply did to an object."""


def outcome_of(before: Unstructured | None, after: Unstructured, *, is_dry_run: bool) -> ApplyOutcome:
    """Tell what an apply did.

    Args:
        before: The object before; None if it did not exist.
        after: The object that the server returned.
        is_dry_run: Whether it was a dry run, which never increases the resource version.

    Returns:
        ``unchanged`` also if nothing but the managed fields is different.
    """
    if before is None:
        return "created"
    is_written = before.metadata.resource_version != after.metadata.resource_version
    if not is_written and not is_dry_run:
        return "unchanged"
    return "unchanged" if _content(before) == _content(after) else "configured"


def _content(obj: Unstructured) -> dict[str, Any]:
    """The content of an object without its field owners, which an apply may change alone."""
    plain = obj.to_dict()
    metadata = {k: v for k, v in plain.get("metadata", {}).items() if k not in _BOOKKEEPING}
    return {**plain, "metadata": metadata}


@set_module("masthead.manifests")
class ApplyResult(Sequence[Unstructured]):
    """The objects that `apply_manifests` applied, as the server stored them, in the order in which they were applied.

    It is a sequence of these objects; `outcomes` and the other properties give the operations.
    """

    def __init__(
        self,
        applied: Iterable[tuple[Unstructured, ApplyOutcome]] = (),
        pruned: Iterable[Unstructured] = (),
        *,
        is_dry_run: bool = False,
        skipped: Iterable[str] = (),
    ) -> None:
        """Create a result.

        Args:
            applied: The objects, each with its outcome.
            pruned: The objects that were pruned.
            is_dry_run: Whether it was a dry run.
            skipped: What a dry run had to skip.
        """
        self._applied = tuple(applied)
        self._pruned = tuple(pruned)
        self._is_dry_run = is_dry_run
        self._skipped = tuple(skipped)

    @overload
    def __getitem__(self, index: int) -> Unstructured: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Unstructured]: ...
    def __getitem__(self, index: int | slice) -> Unstructured | Sequence[Unstructured]:
        if isinstance(index, slice):
            return [obj for obj, _ in self._applied[index]]
        return self._applied[index][0]

    def __len__(self) -> int:
        return len(self._applied)

    @property
    def outcomes(self) -> Sequence[ApplyOutcome]:
        """The operation on each object, in the same order: ``created``, ``configured`` or ``unchanged``."""
        return [outcome for _, outcome in self._applied]

    @property
    def created(self) -> Sequence[Unstructured]:
        """The objects that did not exist before."""
        return self._with("created")

    @property
    def configured(self) -> Sequence[Unstructured]:
        """The changed objects, and the objects whose change is unknown because the client may not read them."""
        return self._with("configured")

    @property
    def unchanged(self) -> Sequence[Unstructured]:
        """The objects that the apply did not change."""
        return self._with("unchanged")

    @property
    def pruned(self) -> Sequence[Unstructured]:
        """The members of the apply set that were deleted, as they were before; see `ApplySet`."""
        return list(self._pruned)

    @property
    def skipped(self) -> Sequence[str]:
        """What a dry run had to skip, because its kind or namespace is created by the same manifests."""
        return self._skipped

    @property
    def has_changes(self) -> bool:
        """Whether anything was created, changed or deleted."""
        return bool(self._pruned) or any(outcome != "unchanged" for _, outcome in self._applied)

    @property
    def text(self) -> str:
        """A line for each object, as kubectl prints it: ``deployment.apps/web configured``."""
        pairs: list[tuple[Unstructured, str]] = [*self._applied, *((obj, "pruned") for obj in self._pruned)]
        suffix = " (server dry run)" if self._is_dry_run else ""
        return "".join(f"{_reference(obj)} {outcome}{suffix}\n" for obj, outcome in pairs)

    def __repr__(self) -> str:
        counts = {word: len(self._with(word)) for word in _OUTCOMES} | {"pruned": len(self._pruned)}
        return f"ApplyResult({', '.join(f'{word}={count}' for word, count in counts.items() if count)})"

    def _with(self, wanted: ApplyOutcome) -> list[Unstructured]:
        return [obj for obj, outcome in self._applied if outcome == wanted]


_OUTCOMES: tuple[ApplyOutcome, ...] = ("created", "configured", "unchanged")


def _reference(obj: Unstructured) -> str:
    gvk = obj.gvk
    kind = f"{gvk.kind}.{gvk.group}" if gvk.group else gvk.kind
    return f"{kind.lower()}/{obj.metadata.name}"
