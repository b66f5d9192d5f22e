"""Those whom the informer benchmarks measure: who they are, and which of them are there."""

from __future__ import annotations

import contextlib
import dataclasses
from importlib import metadata, util
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

Opener = TypeVar("Opener")

OFFICIAL: Final = "kubernetes"
LAZY: Final = "lazy"
EAGER: Final = "eager"
COMPACT: Final = "compact"
OURS: Final = (LAZY, EAGER, COMPACT)
"""The three ways to hold objects."""


@dataclasses.dataclass(frozen=True)
class Contender(Generic[Opener]):
    """Somebody to measure.

    Attributes:
        title: What the report calls it.
        open: Connects it.
        peer: The distribution that it comes from; empty for ours.
        module: What must be there, or it is not measured.
        most: It is so slow that so much work is enough; None for as much as the others do.
    """

    title: str
    open: Opener
    peer: str = ""
    module: str = ""
    most: int | None = None

    def share(self, count: int) -> int:
        """How many objects or events it is to read where the others read so many."""
        return count if self.most is None else min(count, self.most)


def installed(contenders: Mapping[str, Contender[Opener]]) -> dict[str, str]:
    """The versions of those peers that this interpreter has."""
    found: dict[str, str] = {}
    for each in contenders.values():
        with contextlib.suppress(metadata.PackageNotFoundError, ModuleNotFoundError):
            if each.peer and util.find_spec(each.module) is not None:
                found[each.peer] = metadata.version(each.peer)
    return found


def there(
    contenders: Mapping[str, Contender[Opener]], versions: Mapping[str, str]
) -> dict[str, Contender[Opener]]:
    """The contenders that can be measured, each with its version in its title."""
    found: dict[str, Contender[Opener]] = {}
    for name, each in contenders.items():
        if each.peer in versions:
            title = each.title.replace(each.peer, f"{each.peer} {versions[each.peer]}", 1)
            found[name] = dataclasses.replace(each, title=title)
        elif not each.peer and (not each.module or util.find_spec(each.module) is not None):
            found[name] = each
    return found


def left_out(
    contenders: Mapping[str, Contender[Opener]], versions: Mapping[str, str], client_go: str
) -> list[str]:
    """Notes about those who are not measured."""
    notes: list[str] = []
    missing = sorted({each.peer for each in contenders.values() if each.peer} - versions.keys())
    if missing:
        notes.append(
            f"Not installed, or without an informer, so not measured: {', '.join(missing)} (pip install "
            "'masthead[peers]', or name another interpreter that has them with --peers-python)."
        )
    if not client_go:
        notes.append("client-go is not measured: no program is named for it (--client-go).")
    return notes
