"""The request and the result of a reconcile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self, cast

from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from masthead._meta.object import Object

__all__ = ["Request", "Result"]


@set_module("masthead.controller")
class Request(NamedTuple):
    """The name of an object to reconcile.

    Attributes:
        namespace: Its namespace; empty for a cluster-scoped object.
        name: Its name.
    """

    namespace: str
    name: str

    @property
    def key(self) -> str:
        """The cache key of the object: ``namespace/name``, or the name of a cluster-scoped object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def of(cls, obj: Object) -> Self:
        """Return the request for an object."""
        return cls(obj.metadata.namespace, obj.metadata.name)

    @classmethod
    def parse(cls, key: str) -> Self:
        """Parse a key: ``namespace/name``, or the name of a cluster-scoped object.

        Raises:
            ArgumentError: If the key is invalid.
        """
        namespace, _, name = key.rpartition("/")
        if not name or "/" in namespace or key.startswith("/"):
            raise ArgumentError(f"{key!r} is not a key such as 'namespace/name' or 'name'", value=key)
        return cls(namespace, name)

    def __str__(self) -> str:
        return self.key


@set_module("masthead.controller")
@dataclass(frozen=True, slots=True)
class Result:
    """The result of a successful reconcile. None means ``Result()``: wait for the next change.

    Attributes:
        requeue_after: Seconds until the next reconcile of an unchanged object; None for none. The earlier of two
            requeues wins.
        priority: The priority of the requeue; None for the priority of this reconcile.

    Raises:
        ArgumentError: If `requeue_after` is not a non-negative number of seconds.
    """

    requeue_after: float | None = None
    priority: int | None = None

    def __post_init__(self) -> None:
        after = self.requeue_after
        # NaN fails the comparison as well.
        if after is not None and not (_is_number(after) and 0 <= after < float("inf")):
            raise ArgumentError(f"requeue_after is {after!r}; it must be a number of seconds, 0 or more", value=after)
        if self.priority is not None and not isinstance(cast("object", self.priority), int):
            raise ArgumentError(f"priority is {self.priority!r}; it must be an integer", value=self.priority)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
