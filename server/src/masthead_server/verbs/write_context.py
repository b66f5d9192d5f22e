"""The context of a write, which all its steps share."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from masthead_server.admission.attributes import AdmissionAttributes, Operation
from masthead_server.threads import compute_in_thread
from masthead_server.wire.plain import Plain, part, text
from masthead_server.wire.user_info import ADMIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._meta.gvk import GroupVersionKind
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.behavior import StrategyHooks
    from masthead_server.resources.custom.conversions import Conversions
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.options import WriteOptions
    from masthead_server.wire.user_info import UserInfo

__all__ = ["WriteContext"]

T = TypeVar("T")


@dataclass(frozen=True)
class WriteContext:
    """What a write is about.

    Attributes:
        cluster: The cluster state.
        served: The resource, in the version that the client uses.
        namespace: The path's.
        name: The path's; empty for a create.
        options: The query's.
        user: Who writes.
        subresource: The part of the object that may change; empty for the main part.
        is_put: Whether the object was sent whole, so that its uid is a precondition.
        manager: Who manages the fields that change; empty if that is not known, None if the write is not tracked.
        is_large: Whether the object, as sent or as stored, is so large that its fields are merged in a thread.
        conversions: The conversions of the request; None if no webhook converts the objects.
        is_admitted: Whether admission has decided already, about the subresource that causes this write.
    """

    cluster: ClusterState
    served: ServedResource
    namespace: str
    name: str
    options: WriteOptions
    user: UserInfo = ADMIN
    subresource: str = ""
    is_put: bool = False
    manager: str | None = None
    is_large: bool = False
    conversions: Conversions | None = None
    is_admitted: bool = False

    def mutates(self, operation: Operation) -> bool:
        """Tell whether admission may change the object of such a write."""
        return not self.is_admitted and self.cluster.admission.mutates(operation, self.served, self.subresource)

    def attributes(self, operation: Operation, new: Plain, old: Plain | None) -> AdmissionAttributes | None:
        """Describe the write for admission; return None if no plugin decides about it."""
        if self.is_admitted:
            return None
        phases = self.cluster.admission.find(operation, self.served, self.subresource)
        if not phases.is_any:
            return None
        attributes = self.describe(operation, new, old)
        attributes.phases = phases
        return attributes

    def describe(
        self, operation: Operation, new: Plain | None, old: Plain | None, kind: GroupVersionKind | None = None
    ) -> AdmissionAttributes:
        """Describe the write for admission.

        Args:
            operation: What the write does.
            new: The object, or the kind of a subresource, such as Scale.
            old: The stored object; None for a new one.
            kind: The kind of `new`; None for that of the resource.
        """
        name = self.name or text(part(new or {}, "metadata"), "name")
        return AdmissionAttributes(
            operation,
            self.served,
            kind or self.served.gvk,
            # The namespace of a Namespace is itself, so that selectors of namespaces apply to it.
            name if self.served.table == "namespaces" else self.namespace,
            name,
            self.user,
            self.subresource,
            new,
            old,
            self.options,
            self.options.is_dry_run,
            self.options.warnings,
        )

    @functools.cached_property
    def hooks(self) -> StrategyHooks:
        """The strategy of the resource, or of the written subresource."""
        return self.served.hooks_for(self.subresource)

    @functools.cached_property
    def allocator(self) -> Allocator:
        """The allocator of this write."""
        return self.cluster.allocator()

    async def evaluate(self, compute: Callable[..., T], *args: object) -> T:
        """Evaluate code that may need conversions, and has no effects before its last one."""
        return compute(*args) if self.conversions is None else await self.conversions.run(compute, *args)

    async def evaluate_merge(self, merge: Callable[[], T]) -> T:
        """Evaluate a merge: in a thread if the objects are large, and with the conversions that it needs.

        Args:
            merge: The merge. It must not change its arguments, because it may be evaluated again.
        """
        if self.conversions is not None:
            return await self.conversions.run(merge, in_thread=self.is_large)
        return await compute_in_thread(merge) if self.is_large else merge()
