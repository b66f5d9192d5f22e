"""The list of the operators, with types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, cast

from tests.explore.operators import (
    certificate_pair,
    cloud_bucket,
    config_rollout,
    departed_backends,
    early_phase,
    ignored_conflict,
    recreated_store,
    renamed_topic,
    shared_hosts,
    stale_deletion,
    stale_job,
    stale_scale,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from masthead import CustomResource, Manager
    from masthead.testing import Environment

__all__ = ["OPERATORS", "Operator", "external_of", "maker_of"]


class Operator(Protocol):
    """The module of an operator."""

    PATTERN: str
    ORACLES: Collection[str]
    CRDS: Sequence[type[CustomResource]]

    @property
    def workload(self) -> Callable[[Environment], Awaitable[None]]:
        """The steps of a user."""
        ...


_MODULES = [
    certificate_pair,
    early_phase,
    config_rollout,
    cloud_bucket,
    stale_deletion,
    stale_scale,
    stale_job,
    recreated_store,
    departed_backends,
    renamed_topic,
    shared_hosts,
    ignored_conflict,
]
OPERATORS: Mapping[str, Operator] = {
    module.__name__.rpartition(".")[2]: cast("Operator", module) for module in _MODULES
}
"""The operators by name, those with the same pattern together."""


def maker_of(operator: Operator, version: Literal["buggy", "fixed"]) -> Callable[..., Manager]:
    """Return the function that makes a manager; with an external system, it takes the fake."""
    return cast("Callable[..., Manager]", getattr(operator, f"make_{version}"))


def external_of(operator: Operator) -> Callable[[], object] | None:
    """Return the function that makes the fake of an external system, if there is one."""
    return cast("Callable[[], object] | None", getattr(operator, "EXTERNAL", None))
