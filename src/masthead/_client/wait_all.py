"""Wait until a condition holds for all objects of a set.

::

    each object:  check once ──holds──> done
                      │ no
                      v
                  watch ──holds──> done         a few watches at a time, one deadline for all;
                      │                         every object is checked before the first is watched
                      └──failed──> the error ends all waits
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Final

from masthead._client.manifest_resources import resolve_manifests
from masthead._client.readiness import ready
from masthead._client.wait import Wait, check_wait
from masthead._errors.base import format_seconds
from masthead.errors import DeadlineError, StatusError, TransportError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from masthead._client.conditions import WaitCondition
    from masthead._client.documents import ManifestSource
    from masthead._client.manifest_resources import Manifest, ManifestClient
    from masthead._meta.unstructured import Unstructured

__all__ = ["wait_for_manifests"]

_AT_ONCE: Final = 16
"""The number of concurrent lists and watches."""
_SHOWN: Final = 20
"""How many objects a message lists."""


async def wait_for_manifests(
    client: ManifestClient,
    source: ManifestSource,
    condition: WaitCondition[Unstructured] | None,
    *,
    namespace: str | None,
    timeout: float,
) -> list[Unstructured]:
    """Wait until a condition holds for all objects, which need not exist yet.

    Args:
        client: The client.
        source: The objects, or their manifests.
        condition: What to wait for; None for `ready`.
        namespace: The namespace of objects that name none; None for the client's default.
        timeout: Seconds to wait for all of them; ``math.inf`` for no limit. With 0, each object is checked once.

    Returns:
        The objects for which the condition holds, in the order in which they would be applied; missing objects
        are left out.

    Raises:
        ArgumentError: If the condition or the timeout is invalid.
        DeadlineError: If it does not hold for all of them in time; it names the others, with the reasons.
        ObjectFailedError: If an object has failed and will not become ready.
        ManifestError: If an object is invalid, or of an unknown kind.
        MastheadError: As a list or a watch, for failures that are not transient.
    """
    wanted: WaitCondition[Unstructured] = ready() if condition is None else condition
    check_wait(wanted, timeout)
    manifests = await resolve_manifests(
        client,
        source,
        namespace,
        # An object of a kind that is not served does not exist, and the condition may ask for just that.
        skip_unknown_kinds=wanted(None),
        identity_only=True,
    )
    waits = [Wait(manifest.at(client), manifest.name, wanted) for manifest in manifests]
    # A timeout of 0 would expire before the single check.
    limit = asyncio.timeout(None if timeout == math.inf else max(timeout, 0.0) or None)
    pending = set(waits)
    try:
        async with limit:
            await _run(waits, pending, only_once=timeout <= 0)
    except TimeoutError:
        if not limit.expired():  # a TimeoutError of a call, not of this wait
            raise
    if pending:
        raise _timed_out(manifests, waits, pending, wanted.description, timeout)
    return [wait.last for wait in waits if wait.last is not None]


async def _run(waits: Sequence[Wait[Unstructured]], pending: set[Wait[Unstructured]], *, only_once: bool) -> None:
    """Wait for all; those for which the condition holds are removed from `pending`.

    Raises:
        MastheadError: If one of them fails; the others are cancelled.
    """

    async def check(wait: Wait[Unstructured]) -> None:
        if await _holds_now(wait, only_once=only_once):
            pending.discard(wait)

    async def watch(wait: Wait[Unstructured]) -> None:
        await wait.until_true()
        pending.discard(wait)

    # All are checked before the first is watched, so that the state of each is known when the deadline passes.
    await _each(check, waits)
    if not only_once:
        await _each(watch, [wait for wait in waits if wait in pending])


async def _each(do: Callable[[Wait[Unstructured]], Awaitable[None]], waits: Sequence[Wait[Unstructured]]) -> None:
    """Do something for all waits, a few at a time.

    Raises:
        MastheadError: The first failure; the others are cancelled.
    """
    slots = asyncio.Semaphore(_AT_ONCE)

    async def do_one(wait: Wait[Unstructured]) -> None:
        async with slots:
            await do(wait)

    try:
        async with asyncio.TaskGroup() as group:
            for wait in waits:
                group.create_task(do_one(wait))
    except BaseExceptionGroup as failed:
        # The others were cancelled because of it, or failed for the same reason.
        first = failed.exceptions[0]
        raise first from first.__cause__


async def _holds_now(wait: Wait[Unstructured], *, only_once: bool) -> bool:
    if only_once:
        return await wait.holds_now(timeout=None)
    try:
        # The deadline of all applies, not that of one call.
        return await wait.holds_now(timeout=math.inf)
    except (StatusError, TransportError):
        # The wait itself lists again, and decides whether the failure is transient.
        return False


def _timed_out(
    manifests: Sequence[Manifest],
    waits: Sequence[Wait[Unstructured]],
    pending: set[Wait[Unstructured]],
    description: str,
    timeout: float,
) -> DeadlineError:
    lines = [
        f"{manifest.obj.kind} {manifest.obj.key}: {wait.state}"
        for manifest, wait in zip(manifests, waits, strict=True)
        if wait in pending
    ]
    head = f"waited {format_seconds(timeout)} s until {description}"
    advice = "Wait longer, or look at their status and events."
    if len(waits) == 1:
        return DeadlineError(f"{head}; {lines[0]}\n{advice.replace('their', 'its')}", verb="GET")
    more = len(lines) - _SHOWN
    shown = [*lines[:_SHOWN], *([f"... and {more} more"] if more > 0 else [])]
    return DeadlineError(
        f"{head}: {len(lines)} of {len(waits)} objects left:"
        + "".join(f"\n  {line}" for line in shown)
        + f"\n{advice}",
        verb="GET",
    )
