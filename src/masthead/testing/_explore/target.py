"""The target of an exploration: an operator, a workload, and the options of each run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from masthead._controller.options import RunOverrides

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from masthead import Manager
    from masthead._meta.object import Object
    from masthead.testing._explore.oracles.invariants import Invariant
    from masthead.testing._explore.workload import Workload

__all__ = ["Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """The target of an exploration.

    Attributes:
        make_app: Makes the manager of a replica; with `external`, it takes the fake as its argument.
        workload: The steps of a user.
        crds: As for `Environment`.
        objects: As for `Environment`.
        server_options: As for `Environment`.
        overrides: Options of the manager.
        external: Makes the fake of an external system for a run; None for none.
        invariants: Rules about the objects of the cluster.
    """

    make_app: Callable[..., Manager]
    workload: Workload
    crds: Sequence[object] | None = None
    objects: Sequence[Object | Mapping[str, object]] = ()
    server_options: Mapping[str, object] = field(default_factory=dict[str, object])
    overrides: RunOverrides = field(default_factory=RunOverrides)
    external: Callable[[], object] | None = None
    invariants: Sequence[Invariant] = ()
