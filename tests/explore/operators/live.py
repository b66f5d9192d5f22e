"""The check of the repaired operators before a write that cannot be undone."""

from typing import TypeVar

from masthead import CustomResource, NotFoundError
from masthead.aio import ReconcileContext

__all__ = ["is_current"]

T = TypeVar("T", bound=CustomResource)


async def is_current(ctx: ReconcileContext[T], obj: T) -> bool:
    """Whether the server has the same object, with the same spec and no newer deletion.

    If not, the cache is behind, and the event that it lacks reconciles the object again.
    """
    try:
        live = await ctx.client.resource(type(obj), ctx.request.namespace).get(ctx.request.name)
    except NotFoundError:
        return False
    seen, now = obj.metadata, live.metadata
    return (seen.uid, seen.generation, seen.deletion_timestamp) == (now.uid, now.generation, now.deletion_timestamp)
