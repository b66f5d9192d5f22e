"""Workloads: what users of an operator do, step by step."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from masthead.testing._environment import Environment

__all__ = ["Step", "Workload", "WorkloadLike", "as_workload"]

StepFunction: TypeAlias = Callable[["Environment"], Awaitable[object]]


@set_module("masthead.testing")
class Step:
    """One step of a workload: what a user does before all is idle again.

    Args:
        name: A short description, such as ``scale web to 3``.
        act: An async function of the environment.
    """

    def __init__(self, name: str, act: StepFunction) -> None:
        self.name: str = name
        self.act: StepFunction = act

    def __repr__(self) -> str:
        return f"Step({self.name!r})"


@set_module("masthead.testing")
class Workload:
    """The steps of a user as one async function.

    The end of a step is a call of ``env.wait_for_idle()``. The steps of a list are separate, so that some can be left
    out; those of a function are not.

    Args:
        steps: The steps of a list; empty for a function.
        function: All steps as a function; None for a list.
        recovers: Pairs of steps after which the states must be equal, such as ``(1, 3)`` if step 3 undoes step 2.

    Attributes:
        steps: The steps of a list; empty for a function.
        recovers: Pairs of steps after which the states must be equal.
        notes: Remarks of the steps that have run, such as states that the server refused.
    """

    def __init__(
        self,
        steps: Sequence[Step] = (),
        function: StepFunction | None = None,
        *,
        recovers: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.steps: Sequence[Step] = tuple(steps)
        self.recovers: Sequence[tuple[int, int]] = tuple(recovers)
        self.notes: list[str] = []
        self._function = function

    async def run(self, env: Environment, skipped: frozenset[int] = frozenset()) -> None:
        """Run all steps, except those whose numbers are skipped."""
        # Runs in one process share the workload, but not its remarks.
        self.notes.clear()
        if self._function is not None:
            await self._function(env)
            return
        for number, step in enumerate(self.steps, 1):
            # A skipped step is an empty one, so that all others keep their numbers.
            if number not in skipped:
                await step.act(env)
            await env.wait_for_idle()


WorkloadLike: TypeAlias = (
    Workload
    | Callable[["Environment"], Awaitable[object] | AsyncIterator[object]]
    | Sequence[Step | StepFunction | Object | Mapping[str, object]]
)
"""A workload, an async function or async generator function of the environment, or a list of steps and objects."""


def as_workload(source: WorkloadLike) -> Workload:
    """Return the workload of an async function, an async generator function, or a list of steps and objects.

    Raises:
        ArgumentError: If it is anything else.
    """
    if isinstance(source, Workload):
        return source
    # Before coroutine functions: each yield is the end of a step.
    if inspect.isasyncgenfunction(source):
        return Workload(function=_drain(cast("Callable[[Environment], AsyncIterator[object]]", source)))
    if inspect.iscoroutinefunction(source) or inspect.iscoroutinefunction(getattr(source, "__call__", None)):  # noqa: B004
        return Workload(function=cast("StepFunction", source))
    if isinstance(source, list | tuple):
        items = cast("Sequence[object]", source)
        return Workload([_as_step(item, number) for number, item in enumerate(items, 1)])
    raise ArgumentError(
        f"{source!r} is not a workload: pass an async function of the environment, such as "
        "`async def workload(env): ...`, or a list of such functions and of objects to apply",
        value=source,
    )


def _drain(generate: Callable[[Environment], AsyncIterator[object]]) -> StepFunction:
    """Return a function that runs an async generator, and waits at each of its yields."""

    async def run(env: Environment) -> None:
        async for _ in generate(env):
            await env.wait_for_idle()

    return run


def _as_step(item: object, number: int) -> Step:
    if isinstance(item, Step):
        return item
    if inspect.iscoroutinefunction(item):
        # Functions are named by what they do.
        name = getattr(item, "__name__", f"step {number}").replace("_", " ")
        return Step(name, cast("StepFunction", item))
    if isinstance(item, Object | Mapping):
        return _apply_step(cast("Object | Mapping[str, object]", item))
    raise ArgumentError(
        f"step {number} of the workload is {item!r}; pass an async function of the environment, a Step, or an object",
        value=item,
    )


def _apply_step(obj: Object | Mapping[str, object]) -> Step:
    # Once, since the step may run hundreds of times.
    plain = obj.to_dict() if isinstance(obj, Object) else obj
    metadata = cast("Mapping[str, object]", plain.get("metadata") or {})

    async def apply(env: Environment) -> None:
        # A user overrides the operator: a conflict about a field would end the workload.
        await env.client.apply_manifests([plain], force=True)

    return Step(f"apply {plain.get('kind')} {metadata.get('name')}", apply)
