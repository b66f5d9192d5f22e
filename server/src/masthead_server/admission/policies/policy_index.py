"""The policies of a server with their bindings, current after each write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._meta.gvk import GroupVersionResource
from masthead_server.admission.policies.policy import BoundPolicy, PolicyBinding
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record
    from masthead_server.wire.plain import Plain

__all__ = ["PolicyIndex"]

P = TypeVar("P", bound=BoundPolicy)
_GROUP = "admissionregistration.k8s.io"


class PolicyIndex(Generic[P]):
    """All policies of one kind that have a binding, compiled once for each change of theirs.

    Args:
        cluster: The cluster state.
        policies: The resource of the policies.
        bindings: The resource of their bindings.
        compile_policy: Compiles a stored policy with its bindings.
    """

    def __init__(
        self,
        cluster: ClusterState,
        policies: str,
        bindings: str,
        compile_policy: Callable[[ClusterState, Plain, tuple[PolicyBinding, ...]], P],
    ) -> None:
        self._cluster = cluster
        self._policies = f"{_GROUP}/{policies}"
        self._bindings = f"{_GROUP}/{bindings}"
        self._compile = compile_policy
        self._compiled: dict[str, tuple[str, P]] = {}
        self._bound: tuple[P, ...] = ()
        # A server that is opened again has policies already.
        self._is_outdated = True
        cluster.observe(self._policies, self._observe)
        cluster.observe(self._bindings, self._observe)

    @property
    def policies(self) -> tuple[P, ...]:
        """The policies with at least one binding, in the order of their names."""
        if self._is_outdated:
            self._refresh()
        return self._bound

    def _observe(self, _served: ServedResource, record: Record) -> None:
        self._is_outdated = True
        # After a snapshot is restored, a generation may be used again, for another spec.
        if record.revision < self._cluster.storage.revision:
            self._compiled.clear()

    def _refresh(self) -> None:
        self._is_outdated = False
        bindings: dict[str, list[PolicyBinding]] = {}
        for stored in self._load(self._bindings):
            binding = PolicyBinding(self._cluster, stored)
            bindings.setdefault(binding.policy_name, []).append(binding)
        known, self._compiled = self._compiled, {}
        bound: list[P] = []
        for stored in self._load(self._policies) if bindings else ():
            meta = part(stored, "metadata")
            name = text(meta, "name")
            if name not in bindings:
                continue
            # Labels and the status change often, the spec seldom.
            version = f"{text(meta, 'uid')}/{meta.get('generation')}"
            before = known.get(name)
            # A policy that has not changed is not compiled again.
            if before is not None and before[0] == version:
                policy = before[1]
                policy.bindings = tuple(bindings[name])
            else:
                policy = self._compile(self._cluster, stored, tuple(bindings[name]))
            self._compiled[name] = (version, policy)
            bound.append(policy)
        self._bound = tuple(bound)

    def _load(self, table: str) -> Iterator[Plain]:
        group, _, name = table.partition("/")
        served = self._cluster.catalog.require(GroupVersionResource(group, "v1", name))
        for record in self._cluster.storage.table(table).scan("", self._cluster.storage.revision):
            yield served.load(record)
