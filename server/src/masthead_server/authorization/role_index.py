"""The index of roles and bindings: which rules apply to a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.authorization.policy_rules import PolicyRule, RuleSet
from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record
    from masthead_server.wire.user_info import UserInfo

__all__ = ["ACCOUNT_PREFIX", "RBAC_GROUP", "RoleBindingEntry", "RoleIndex", "RoleRef"]

RBAC_GROUP: Final = "rbac.authorization.k8s.io"
ACCOUNT_PREFIX: Final = "system:serviceaccount:"
_ROLES: Final = f"{RBAC_GROUP}/roles"
_CLUSTER_ROLES: Final = f"{RBAC_GROUP}/clusterroles"
_BINDINGS: Final = f"{RBAC_GROUP}/rolebindings"
_CLUSTER_BINDINGS: Final = f"{RBAC_GROUP}/clusterrolebindings"


@dataclass(frozen=True, slots=True)
class RoleRef:
    """The role that a binding grants."""

    kind: str
    name: str

    @classmethod
    def of(cls, binding: Plain) -> RoleRef:
        """Read the reference of a binding."""
        reference = part(binding, "roleRef")
        return cls(text(reference, "kind"), text(reference, "name"))


@dataclass(frozen=True, slots=True)
class _Subject:
    """A subject of a binding.

    Attributes:
        user: The name of the user; None for a group.
        group: The name of the group; None for a user.
        title: The subject in the reason of a decision.
    """

    user: str | None
    group: str | None
    title: str

    @classmethod
    def of(cls, subject: Plain, namespace: str) -> _Subject | None:
        """Read a subject; None if it applies to no user.

        Args:
            subject: The subject.
            namespace: The namespace of the binding; empty for a ClusterRoleBinding.
        """
        kind, name = text(subject, "kind"), text(subject, "name")
        if kind == "User":
            return cls(name, None, f"User {quoted(name)}")
        if kind == "Group":
            return cls(None, name, f"Group {quoted(name)}")
        # An account without a namespace is one of the binding's own namespace.
        home = text(subject, "namespace") or namespace
        if kind != "ServiceAccount" or not home:
            return None
        return cls(f"{ACCOUNT_PREFIX}{home}:{name}", None, f"ServiceAccount {quoted(f'{name}/{home}')}")

    def applies_to(self, user: UserInfo) -> bool:
        """Tell whether a user is this subject, or a member of it."""
        return self.user == user.name if self.group is None else self.group in user.groups


class RoleBindingEntry:
    """A RoleBinding or ClusterRoleBinding.

    Attributes:
        name: Its name.
        role: The role that it grants.
    """

    __slots__ = ("_namespace", "_subjects", "_title", "name", "role")

    def __init__(self, name: str, namespace: str, binding: Plain) -> None:
        self.name = name
        self.role = RoleRef.of(binding)
        self._namespace = namespace
        found = (_Subject.of(subject, namespace) for subject in items(binding, "subjects"))
        self._subjects = tuple(subject for subject in found if subject is not None)
        title = f"RoleBinding {quoted(f'{name}/{namespace}')}" if namespace else f"ClusterRoleBinding {quoted(name)}"
        self._title = f"{title} of {self.role.kind} {quoted(self.role.name)} to "

    @property
    def users(self) -> frozenset[str]:
        """The names of its users and service accounts."""
        return frozenset(subject.user for subject in self._subjects if subject.user is not None)

    @property
    def groups(self) -> frozenset[str]:
        """The names of its groups."""
        return frozenset(subject.group for subject in self._subjects if subject.group is not None)

    def describe(self, user: UserInfo) -> str:
        """Return the binding, its role and the first of its subjects that is a user, for the reason of a decision."""
        return self._title + next(subject.title for subject in self._subjects if subject.applies_to(user))


class _Bindings:
    """The bindings of a namespace, or the ClusterRoleBindings, by their subjects."""

    def __init__(self) -> None:
        self._entries: dict[str, RoleBindingEntry] = {}
        self._by_user: dict[str, dict[str, RoleBindingEntry]] = {}
        self._by_group: dict[str, dict[str, RoleBindingEntry]] = {}

    @property
    def is_empty(self) -> bool:
        return not self._entries

    def put(self, name: str, entry: RoleBindingEntry) -> None:
        self.remove(name)
        self._entries[name] = entry
        for user in entry.users:
            self._by_user.setdefault(user, {})[name] = entry
        for group in entry.groups:
            self._by_group.setdefault(group, {})[name] = entry

    def remove(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        if entry is None:
            return
        for index, subjects in ((self._by_user, entry.users), (self._by_group, entry.groups)):
            for subject in subjects:
                del index[subject][name]
                if not index[subject]:
                    del index[subject]

    def find(self, user: UserInfo) -> list[RoleBindingEntry]:
        """Return the bindings of a user, by name."""
        # By name, because a binding may apply to a user by several of its groups.
        found: dict[str, RoleBindingEntry] = {**self._by_user.get(user.name, {})}
        for group in user.groups:
            if group in self._by_group:
                found |= self._by_group[group]
        return [found[name] for name in sorted(found)]


class RoleIndex:
    """The stored roles and bindings; every write updates it.

    Args:
        cluster: The cluster state.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._roles: dict[str, RuleSet] = {}
        self._cluster_roles: dict[str, RuleSet] = {}
        self._cluster_bindings = _Bindings()
        self._bindings: dict[str, _Bindings] = {}
        self._setters = {
            _ROLES: self._set_role,
            _CLUSTER_ROLES: self._set_cluster_role,
            _BINDINGS: self._set_binding,
            _CLUSTER_BINDINGS: self._set_cluster_binding,
        }
        for table in self._setters:
            served = cluster.catalog.stored_in(table)
            assert served is not None, f"the server has no {table}"
            # The data file of an earlier run has written its objects already.
            for record, found in cluster.objects(served):
                self._setters[table](record.key, found)
            cluster.observe(table, self._observe)

    def bindings_of(self, user: UserInfo, namespace: str) -> Iterator[tuple[RoleBindingEntry, str]]:
        """Iterate over the bindings that apply to a user in a namespace, each with the namespace of its role.

        Args:
            user: The user.
            namespace: The namespace; empty for ClusterRoleBindings only.
        """
        for entry in self._cluster_bindings.find(user):
            yield entry, ""
        local = self._bindings.get(namespace) if namespace else None
        if local is not None:
            for entry in local.find(user):
                yield entry, namespace

    def find_rules(self, role: RoleRef, namespace: str) -> RuleSet | None:
        """Return the rules of a role; None if there is no such role.

        Args:
            role: The role.
            namespace: The namespace of the binding; empty for a ClusterRoleBinding.
        """
        if role.kind == "ClusterRole":
            return self._cluster_roles.get(role.name)
        return self._roles.get(f"{namespace}/{role.name}") if role.kind == "Role" else None

    def collect_rules(self, user: UserInfo, namespace: str) -> tuple[list[PolicyRule], list[RoleRef]]:
        """Return the rules that apply to a user in a namespace, and the roles that are bound and do not exist."""
        rules: list[PolicyRule] = []
        missing: list[RoleRef] = []
        for binding, place in self.bindings_of(user, namespace):
            found = self.find_rules(binding.role, place)
            if found is None:
                missing.append(binding.role)
            else:
                rules.extend(found.rules)
        return rules, missing

    def _observe(self, served: ServedResource, record: Record) -> None:
        setter = self._setters.get(served.table)
        if setter is not None:
            setter(record.key, None if record.is_deleted else served.load(record))

    def _set_role(self, key: str, role: Plain | None) -> None:
        _set_rules(self._roles, key, role)

    def _set_cluster_role(self, key: str, role: Plain | None) -> None:
        _set_rules(self._cluster_roles, key, role)

    def _set_binding(self, key: str, binding: Plain | None) -> None:
        namespace, _, name = key.partition("/")
        bindings = self._bindings.setdefault(namespace, _Bindings())
        if binding is not None:
            bindings.put(name, RoleBindingEntry(name, namespace, binding))
            return
        bindings.remove(name)
        # Tests make a namespace each, and none of them is to leave something behind.
        if bindings.is_empty:
            del self._bindings[namespace]

    def _set_cluster_binding(self, key: str, binding: Plain | None) -> None:
        if binding is None:
            self._cluster_bindings.remove(key)
        else:
            self._cluster_bindings.put(key, RoleBindingEntry(key, "", binding))


def _set_rules(roles: dict[str, RuleSet], key: str, role: Plain | None) -> None:
    if role is None:
        roles.pop(key, None)
    else:
        roles[key] = RuleSet([PolicyRule.of(rule) for rule in items(role, "rules")])
