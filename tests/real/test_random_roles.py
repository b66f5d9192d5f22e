"""Random roles and bindings: the embedded server decides as a real one does, and gives the same reasons.

The same questions (SubjectAccessReviews), the same rules of a user, and the same refusals of roles that would grant too
much. Bindings have no order on the real server: where several of them apply, only the decision is compared, and the
errors in any order.

``MASTHEAD_RANDOM_ROLES`` is the number of role sets, ``MASTHEAD_RANDOM_SEED`` what they are made from.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.conformance.target import Target, embedded_target, real_target
from tests.real.random_roles import GROUP, NAMESPACES, Plain, RandomRoles, RoleSet
from tests.real_server import wait_until

if TYPE_CHECKING:
    import http.client
    from collections.abc import Sequence

    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(3600)]

SETS = int(os.environ.get("MASTHEAD_RANDOM_ROLES", "60"))
SEED = int(os.environ.get("MASTHEAD_RANDOM_SEED", "1"))
QUESTIONS = 8
BATCH = 30
RBAC = f"/apis/{GROUP}/v1"
WRITERS = "random-writers"
"""The group that may create roles."""
_ERRORS = re.compile(r'(?:clusterrole|role)s?\.rbac\.authorization\.k8s\.io "[^"]*" not found')


class Server:
    """One of the two servers."""

    def __init__(self, target: Target, connection: http.client.HTTPConnection) -> None:
        self._token = target.token
        self._connection = connection

    def call(
        self, method: str, path: str, body: object = None, *, user: str = "", groups: Sequence[str] = ()
    ) -> tuple[int, Plain]:
        self._connection.putrequest(method, path)
        content = b"" if body is None else json.dumps(body).encode()
        headers = [("Authorization", f"Bearer {self._token}"), ("Content-Type", "application/json")]
        headers += [("Content-Length", str(len(content)))]
        headers += [("Impersonate-User", user)] if user else []
        headers += [("Impersonate-Group", group) for group in groups]
        for name, value in headers:
            self._connection.putheader(name, value)
        self._connection.endheaders(content)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())

    def prepare(self) -> None:
        """Make the namespaces, and let a group create roles."""
        for namespace in NAMESPACES:
            self.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        rules = [{"verbs": ["create"], "apiGroups": [GROUP], "resources": ["roles"]}]
        self.create(_object("ClusterRole", WRITERS, rules=rules))
        subjects = [{"kind": "Group", "name": WRITERS, "apiGroup": GROUP}]
        self.create(_binding("ClusterRoleBinding", WRITERS, "ClusterRole", subjects))

    def create(self, body: Plain) -> None:
        namespace = body["metadata"].get("namespace")
        place = f"/namespaces/{namespace}" if namespace else ""
        status, document = self.call("POST", f"{RBAC}{place}/{body['kind'].lower()}s", body)
        assert status == 201, document

    def create_all(self, sets: Sequence[RoleSet], mark: str) -> None:
        """Create objects, and wait until decisions depend on all of them."""
        for roles in sets:
            for body in (*roles.roles, *roles.bindings):
                self.create(body)
        # The last of each kind: the caches of the real server learn of the objects of a kind in their order.
        subjects = [{"kind": "User", "name": mark, "apiGroup": GROUP}]
        for kind, place in (("ClusterRole", ""), ("Role", NAMESPACES[0])):
            rules = [{"verbs": [kind], "apiGroups": [""], "resources": ["pods"]}]
            self.create(_object(kind, mark, place, rules=rules))
            self.create(_binding(f"{kind}Binding", mark, kind, subjects, place))
        assert wait_until(lambda: self._knows(mark, "ClusterRole") and self._knows(mark, "Role"))

    def _knows(self, user: str, verb: str) -> bool:
        attributes = {"verb": verb, "resource": "pods", "namespace": NAMESPACES[0]}
        return bool(self.ask({"user": user, "resourceAttributes": attributes})["allowed"])

    def ask(self, spec: Plain) -> Plain:
        status, review = self.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
        assert status == 201, review
        found: Plain = review["status"]
        return found

    def list_rules(self, user: str, namespace: str) -> Plain:
        path, body = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {"namespace": namespace}}
        _, review = self.call("POST", path, body, user=user)
        status: Plain = review["status"]
        lists = {key: sorted(map(json.dumps, status[key])) for key in ("resourceRules", "nonResourceRules")}
        return {**lists, "errors": sorted(_ERRORS.findall(status.get("evaluationError", "")))}

    def grant(self, user: str, group: str, role: Plain) -> tuple[int, str]:
        path = f"{RBAC}/namespaces/{role['metadata']['namespace']}/roles?dryRun=All"
        status, document = self.call("POST", path, role, user=user, groups=[group, WRITERS])
        return status, _sorted_errors(str(document.get("message", "")))

    def delete_all(self, mark: str) -> None:
        places = ["", *(f"/namespaces/{namespace}" for namespace in NAMESPACES)]
        for place in places:
            kind = "role" if place else "clusterrole"
            for resource in (f"{kind}bindings", f"{kind}s"):
                self.call("DELETE", f"{RBAC}{place}/{resource}?labelSelector=batch%3D{mark}")


def _object(kind: str, name: str, namespace: str = "", **more: object) -> Plain:
    metadata = {"name": name, "labels": {"batch": name}, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, **more}


def _binding(kind: str, name: str, role: str, subjects: list[Plain], namespace: str = "") -> Plain:
    return _object(kind, name, namespace, roleRef={"apiGroup": GROUP, "kind": role, "name": name}, subjects=subjects)


def _sorted_errors(message: str) -> str:
    """A text whose errors about missing roles are in order."""
    errors = sorted(_ERRORS.findall(message))
    return f"{_ERRORS.sub('<missing>', message)} {errors}" if errors else message


def _comparable(status: Plain, roles: RoleSet) -> Plain:
    reason = status.get("reason", "")
    if status["allowed"] and len(roles.bindings) > 1:
        reason = "one of several"
    return {**status, "reason": _sorted_errors(reason)}


def _compare(roles: RoleSet, ours: Server, real: Server, answers: Counter[str]) -> list[str]:
    pairs: list[tuple[object, object, object]] = []
    for spec in roles.questions:
        theirs = real.ask(spec)
        answers["allowed" if theirs["allowed"] else "refused"] += 1
        pairs.append((spec, _comparable(theirs, roles), _comparable(ours.ask(spec), roles)))
    for user, group, role in roles.grants:
        granted = real.grant(user, group, role)
        answers[f"grant {granted[0]}"] += 1
        pairs.append((role["rules"], granted, ours.grant(user, group, role)))
        pairs += [(user, real.list_rules(user, place), ours.list_rules(user, place)) for place in NAMESPACES]
    known = json.dumps([*roles.roles, *roles.bindings])
    return [f"{json.dumps(asked)}\nreal: {one}\nhere: {other}\n{known}" for asked, one, other in pairs if one != other]


def test_random_roles_mean_the_same(real_server: RealServer) -> None:
    random = Random(SEED)
    theirs = real_target(real_server)
    differences: list[str] = []
    answers: Counter[str] = Counter()
    with embedded_target() as target, closing(target.connect()) as one, closing(theirs.connect()) as other:
        ours, real = Server(target, one), Server(theirs, other)
        for server in (ours, real):
            server.prepare()
        for first in range(0, SETS, BATCH):
            mark = f"batch-{SEED}-{first}"
            numbers = range(first, min(first + BATCH, SETS))
            sets = [RandomRoles(random, f"set-{SEED}-{n}", {"batch": mark}).make(QUESTIONS) for n in numbers]
            for server in (ours, real):
                server.create_all(sets, mark)
            for roles in sets:
                differences += _compare(roles, ours, real, answers)
            for server in (ours, real):
                server.delete_all(mark)
    # Otherwise the comparison would mean little.
    assert {"allowed", "refused", "grant 201", "grant 403"} <= answers.keys()
    print(f"{SETS} role sets: {dict(answers)}, {len(differences)} differences")
    assert not differences, f"{len(differences)} differences\n" + "\n\n".join(differences[:5])
