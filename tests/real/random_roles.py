"""Random sets of roles and bindings, and questions about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from random import Random

Plain = dict[str, Any]

NAMESPACES: Final = ("rbac-a", "rbac-b")
GROUP: Final = "rbac.authorization.k8s.io"
VERBS: Final = ("get", "list", "watch", "create", "update", "delete", "bind", "escalate", "*")
GROUPS: Final = ("", "apps", "example.com", GROUP, "*")
RESOURCES: Final = ("pods", "pods/log", "pods/*", "*/log", "*/scale", "deployments/scale", "roles", "*", "a/b/c")
NAMES: Final = ("one", "two", "*")
URLS: Final = ("/a", "/a/*", "/a/b", "/b*", "*", "/metrics")


@dataclass
class RoleSet:
    """Objects of one set, which concern no user of another set.

    Attributes:
        roles: Roles and ClusterRoles.
        bindings: RoleBindings and ClusterRoleBindings.
        questions: The specs of access reviews.
        grants: Roles that somebody tries to create: the user, its groups, and the role.
    """

    roles: list[Plain] = field(default_factory=list[Plain])
    bindings: list[Plain] = field(default_factory=list[Plain])
    questions: list[Plain] = field(default_factory=list[Plain])
    grants: list[tuple[str, str, Plain]] = field(default_factory=list[tuple[str, str, Plain]])


class RandomRoles:
    """Makes role sets.

    Args:
        random: Where the choices come from.
        prefix: The beginning of all names of a set.
        labels: The labels of all objects.
    """

    def __init__(self, random: Random, prefix: str, labels: Plain) -> None:
        self._random = random
        self._prefix = prefix
        self._labels = labels
        self._users = [f"{prefix}-u{index}" for index in range(2)]
        self._groups = [f"{prefix}-g{index}" for index in range(2)]

    def make(self, questions: int) -> RoleSet:
        """Make a set with so many questions about it."""
        random, made = self._random, RoleSet()
        for index in range(random.randint(1, 4)):
            is_local = random.random() < 0.5
            place = {"namespace": random.choice(NAMESPACES)} if is_local else {}
            made.roles.append(self._role(f"{self._prefix}-{index}", place, is_local=is_local))
        for index in range(random.choice((1, 1, 2, 3, 4))):
            made.bindings.append(self._binding(f"{self._prefix}-{index}", made.roles))
        made.questions = [self._question(made) for _ in range(questions)]
        role = self._role(f"{self._prefix}-new", {"namespace": random.choice(NAMESPACES)}, is_local=True)
        made.grants = [(random.choice(self._users), random.choice(self._groups), role)]
        return made

    def _meta(self, name: str, place: Plain) -> Plain:
        return {"name": name, "labels": self._labels, **place}

    def _role(self, name: str, place: Plain, *, is_local: bool) -> Plain:
        rules = [self._rule(is_local=is_local) for _ in range(self._random.randint(0, 4))]
        kind = "Role" if is_local else "ClusterRole"
        return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": self._meta(name, place), "rules": rules}

    def _rule(self, *, is_local: bool) -> Plain:
        random = self._random
        if not is_local and random.random() < 0.25:
            return {"verbs": self._some(VERBS), "nonResourceURLs": self._some(URLS)}
        rule: Plain = {"verbs": self._some(VERBS), "apiGroups": self._some(GROUPS), "resources": self._some(RESOURCES)}
        if random.random() < 0.3:
            rule["resourceNames"] = self._some(NAMES)
        return rule

    def _some(self, values: tuple[str, ...]) -> list[str]:
        return self._random.choices(values, k=self._random.choice((1, 1, 2, 3)))

    def _binding(self, name: str, roles: list[Plain]) -> Plain:
        random = self._random
        role = random.choice(roles)
        is_local = role["kind"] == "Role" or random.random() < 0.4
        kind = "RoleBinding" if is_local else "ClusterRoleBinding"
        place = {"namespace": random.choice(NAMESPACES)} if is_local else {}
        if role["kind"] == "Role" and random.random() < 0.8:
            place = {"namespace": role["metadata"]["namespace"]}
        lost = random.random() < 0.1
        target = f"{self._prefix}-lost" if lost else role["metadata"]["name"]
        return {
            "apiVersion": f"{GROUP}/v1",
            "kind": kind,
            "metadata": self._meta(name, place),
            "roleRef": {"apiGroup": GROUP, "kind": role["kind"], "name": target},
            "subjects": [self._subject() for _ in range(random.randint(0, 3))],
        }

    def _subject(self) -> Plain:
        random = self._random
        kind = random.choice(("User", "Group", "ServiceAccount"))
        if kind == "ServiceAccount":
            return {"kind": kind, "name": self._prefix, "namespace": random.choice(NAMESPACES)}
        name = random.choice(self._users if kind == "User" else self._groups)
        if kind == "User" and random.random() < 0.2:
            name = f"system:serviceaccount:{random.choice(NAMESPACES)}:{self._prefix}"
        return {"kind": kind, "name": name, "apiGroup": GROUP}

    def _question(self, made: RoleSet) -> Plain:
        """A question about anything, or mostly one that a rule of the set may answer with yes."""
        random, close = self._random, None
        if random.random() < 0.8:
            binding = random.choice(made.bindings)
            close = self._question_about(binding, made)
        return close or self._any_question()

    def _question_about(self, binding: Plain, made: RoleSet) -> Plain | None:
        random, wanted = self._random, (binding["roleRef"]["kind"], binding["roleRef"]["name"])
        roles = [role for role in made.roles if (role["kind"], role["metadata"]["name"]) == wanted]
        rules = [rule for role in roles for rule in role["rules"]]
        if not rules or not binding["subjects"]:
            return None
        rule, who = random.choice(rules), random.choice(binding["subjects"])
        spec: Plain = {"user": who["name"]}
        if who["kind"] == "Group":
            spec = {"user": random.choice(self._users), "groups": [who["name"]]}
        elif who["kind"] == "ServiceAccount":
            spec = {"user": f"system:serviceaccount:{who['namespace']}:{who['name']}"}
        verb = random.choice(rule["verbs"])
        if "nonResourceURLs" in rule:
            path = random.choice(rule["nonResourceURLs"]).replace("*", random.choice(("", "x", "/x", "*")))
            return {**spec, "nonResourceAttributes": {"verb": verb, "path": path or "/"}}
        resource, _, subresource = random.choice(rule["resources"]).replace("*", "any").partition("/")
        attributes = {
            "verb": verb.replace("*", "any"),
            "group": random.choice(rule["apiGroups"]).replace("*", "any"),
            "resource": resource,
            "subresource": subresource,
            "namespace": binding["metadata"].get("namespace", random.choice((*NAMESPACES, ""))),
            "name": random.choice(rule.get("resourceNames", ("", "one"))),
        }
        # One wrong attribute of five makes some of them close misses.
        if random.random() < 0.2:
            attributes[random.choice(("verb", "group", "resource", "subresource", "name"))] = "other"
        return {**spec, "resourceAttributes": attributes}

    def _any_question(self) -> Plain:
        random = self._random
        account = f"system:serviceaccount:{random.choice(NAMESPACES)}:{self._prefix}"
        spec: Plain = {"user": random.choice((*self._users, account))}
        if random.random() < 0.5:
            spec["groups"] = random.sample(self._groups, random.randint(1, 2))
        if random.random() < 0.2:
            path = random.choice(("/a", "/a/", "/a/b", "/a/b/c", "/b", "/bc", "/metrics", "/"))
            return {**spec, "nonResourceAttributes": {"verb": random.choice(VERBS), "path": path}}
        resource, _, subresource = random.choice(RESOURCES[:8]).partition("/")
        attributes = {
            "verb": random.choice(VERBS),
            "group": random.choice(GROUPS),
            "resource": resource,
            "subresource": subresource,
            "namespace": random.choice((*NAMESPACES, "")),
            "name": random.choice(("", "one", "two", "three")),
        }
        return {**spec, "resourceAttributes": attributes}
