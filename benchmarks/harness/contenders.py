"""Those whom a benchmark measures beside each other: who they are, and which of them are there."""

from __future__ import annotations

import contextlib
import dataclasses
from importlib import metadata, util
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Opener = TypeVar("Opener")


@dataclasses.dataclass(frozen=True)
class Contender:
    """A client to measure.

    Attributes:
        title: What the report calls it.
        peer: The distribution that it comes from; empty for ours.
        module: What must be there, or it is not measured.
        most: It is so slow that so much work is enough; None for as much as the others do.
    """

    title: str
    peer: str = ""
    module: str = ""
    most: int | None = None

    def share(self, count: int) -> int:
        """How many objects or events it is to read where the others read so many."""
        return count if self.most is None else min(count, self.most)

    @property
    def is_there(self) -> bool:
        """Whether this interpreter has the module that it needs."""
        with contextlib.suppress(ModuleNotFoundError):  # of the package that the module is in
            return not self.module or util.find_spec(self.module) is not None
        return False


@dataclasses.dataclass(frozen=True)
class Informer(Contender, Generic[Opener]):
    """An informer, or what comes next to one.

    Attributes:
        open: Connects it.
    """

    open: Opener = dataclasses.field(kw_only=True)


AnyContender = TypeVar("AnyContender", bound=Contender)


def installed(contenders: Mapping[str, Contender]) -> dict[str, str]:
    """The versions of those peers that this interpreter has."""
    found: dict[str, str] = {}
    for contender in contenders.values():
        with contextlib.suppress(metadata.PackageNotFoundError):
            if contender.peer and contender.is_there:
                found[contender.peer] = metadata.version(contender.peer)
    return found


def there(contenders: Mapping[str, AnyContender], versions: Mapping[str, str]) -> dict[str, AnyContender]:
    """The contenders that can be measured, each with its version in its title."""
    found: dict[str, AnyContender] = {}
    for name, each in contenders.items():
        if each.peer in versions:
            title = each.title.replace(each.peer, f"{each.peer} {versions[each.peer]}", 1)
            found[name] = dataclasses.replace(each, title=title)
        elif not each.peer and each.is_there:
            found[name] = each
    return found


def shares(contenders: Mapping[str, Contender], count: int) -> list[int]:
    """The numbers of objects that a contender reads, if most read so many; all of them read one first."""
    return sorted({1, *(contender.share(count) for contender in contenders.values())} - {0})


def missing(contenders: Mapping[str, Contender], versions: Mapping[str, str], *, why: str) -> Iterator[str]:
    """A note about the peers that are not there, if there are any."""
    absent = sorted({contender.peer for contender in contenders.values() if contender.peer} - versions.keys())
    if absent:
        yield (
            f"{why}, so not measured: {', '.join(absent)} (pip install 'masthead-k8s[peers]', or name another "
            "interpreter that has them with --peers-python)."
        )
