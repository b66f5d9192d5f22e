"""Random admission policies: the embedded server refuses, warns and changes objects as a real one does.

Each policy is bound to objects with a label of its own, so that many can be in effect at once. All requests are dry
runs. Where a policy is refused, both servers must refuse it in the same words.

``MASTHEAD_RANDOM_POLICIES`` is the number of policies, ``MASTHEAD_RANDOM_SEED`` what they are made from.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.target import Target, embedded_target, real_target
from tests.real.random_policies import GROUP, NAMESPACE, PARAMS, Plain, PolicyCase, make_case, stored_objects
from tests.real_server import wait_until

if TYPE_CHECKING:
    import http.client

    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(7200)]

POLICIES = int(os.environ.get("MASTHEAD_RANDOM_POLICIES", "60"))
SEED = int(os.environ.get("MASTHEAD_RANDOM_SEED", "1"))
BATCH = 60
CONFIGS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_CHANGING = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"),
    (re.compile(r'("resourceVersion": ?)"\d+"'), r'\1"<version>"'),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "<address>"),
    (re.compile(r'(\\?"resourceVersion\\?": ?)\\?"\d+\\?"'), r"\1<version>"),
)


class Server:
    """One of the two servers."""

    def __init__(self, target: Target, connection: http.client.HTTPConnection) -> None:
        self._token = target.token
        self._connection = connection

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Plain, list[str]]:
        """Send a request; returns the status, the body and the warnings of the response."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind, "User-Agent": "random/1.0"}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = self._connection.getresponse()
        document = json.loads(response.read())
        return response.status, document, response.headers.get_all("Warning") or []

    def prepare(self) -> None:
        """Store what all policies share, and keep the server watching the kind of their parameters."""
        for path, body in stored_objects():
            assert self.call("POST", path, body)[0] == 201
        for kind in ("Validating", "Mutating"):
            self._add_probe(kind, "keeper", {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}, has_params=True)
        self._await("keeper")

    def install(self, cases: list[PolicyCase], mark: str) -> list[tuple[int, Plain, list[str]]]:
        """Create policies and bindings, and wait until all are in effect; returns the responses to the policies."""
        responses: list[tuple[int, Plain, list[str]]] = []
        for case in cases:
            for path, body in case.stored:
                assert self.call("POST", path, body)[0] == 201
            responses.append(self.call("POST", _path(case.policy), case.policy))
            status, document, _ = self.call("POST", _path(case.binding), case.binding)
            assert status == 201, document
        for kind in ("Validating", "Mutating"):
            self._add_probe(kind, mark, {})
        self._await(mark)
        return responses

    def _add_probe(self, kind: str, mark: str, more: Plain, *, has_params: bool = False) -> None:
        name = f"{mark}-{kind.lower()}"
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
        spec: Plain = {"matchConstraints": {"resourceRules": [rule | {"resourceNames": [name]}]}} | more
        if kind == "Validating":
            spec["validations"] = [{"expression": "false"}]
        else:
            patch = "[JSONPatch{op: 'add', path: '/data', value: {'probe': 'yes'}}]"
            spec["mutations"] = [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}]
            spec["reinvocationPolicy"] = "Never"
        bound: Plain = {"policyName": name}
        if kind == "Validating":
            bound["validationActions"] = ["Deny"]
        if has_params:
            bound["paramRef"] = {"selector": {"matchLabels": {PARAMS: "yes"}}, "parameterNotFoundAction": "Allow"}
        for suffix, content in (("", spec), ("Binding", bound)):
            found = {"kind": f"{kind}AdmissionPolicy{suffix}", "metadata": {"name": name}, "spec": content}
            status, document, _ = self.call("POST", _path(found), found)
            assert status == 201, document

    def _await(self, mark: str) -> None:
        def is_in_effect() -> bool:
            bodies = [{"metadata": {"name": f"{mark}-{kind}"}} for kind in ("validating", "mutating")]
            refused, changed = (self.call("POST", f"{CONFIGS}?dryRun=All", body) for body in bodies)
            return refused[0] == 422 and "data" in changed[1]

        assert wait_until(is_in_effect)

    def remove(self, cases: list[PolicyCase], mark: str) -> None:
        """Remove policies, bindings and stored objects."""
        for case in cases:
            for found in (case.binding, case.policy):
                self.call("DELETE", f"{_path(found)}/{found['metadata']['name']}")
            for path, body in case.stored:
                self.call("DELETE", f"{path}/{body['metadata']['name']}")
        for kind in ("Validating", "Mutating"):
            for suffix in ("Binding", ""):
                found = {"kind": f"{kind}AdmissionPolicy{suffix}"}
                self.call("DELETE", f"{_path(found)}/{mark}-{kind.lower()}")


def _path(found: Plain) -> str:
    plural = f"{found['kind'].lower()}s".replace("policys", "policies")
    return f"/apis/{GROUP}/v1/{plural}"


def _comparable(response: tuple[int, Plain, list[str]]) -> Any:
    status, document, warnings = response
    text = json.dumps([status, _without_noise(document), warnings], sort_keys=True)
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return json.loads(text)


def _without_noise(document: Plain) -> Plain:
    meta = {key: value for key, value in document.get("metadata", {}).items() if key != "managedFields"}
    return {**document, "metadata": meta}


def _compare(case: PolicyCase, ours: Server, real: Server, outcomes: Counter[str]) -> list[str]:
    differences: list[str] = []
    for method, path, body in case.requests:
        theirs = _comparable(real.call(method, f"{path}?dryRun=All", body))
        mine = _comparable(ours.call(method, f"{path}?dryRun=All", body))
        outcomes[f"{method} {theirs[0]}{' with warnings' if theirs[2] else ''}"] += 1
        if theirs != mine:
            shown = json.dumps([case.policy["spec"], case.binding["spec"], body])
            differences.append(f"{method} {path}\nreal: {theirs}\nhere: {mine}\n{shown}")
    return differences


def test_random_policies_mean_the_same(real_server: RealServer) -> None:
    random = Random(SEED)
    theirs = real_target(real_server)
    differences: list[str] = []
    outcomes: Counter[str] = Counter()
    with embedded_target() as target, closing(target.connect()) as one, closing(theirs.connect()) as other:
        ours, real = Server(target, one), Server(theirs, other)
        for server in (ours, real):
            server.prepare()
        for first in range(0, POLICIES, BATCH):
            mark = f"probe-{first}"
            numbers = range(first, min(first + BATCH, POLICIES))
            cases = [make_case(random, f"p{SEED}-{number}") for number in numbers]
            made = [server.install(cases, mark) for server in (real, ours)]
            for case, one_policy, other_policy in zip(cases, *made, strict=True):
                outcomes[f"policy {one_policy[0]}"] += 1
                if _comparable(one_policy) != _comparable(other_policy):
                    shown = json.dumps(case.policy["spec"])
                    differences.append(
                        f"policy\nreal: {_comparable(one_policy)}\nhere: {_comparable(other_policy)}\n{shown}"
                    )
                else:
                    differences += _compare(case, ours, real, outcomes)
            for server in (ours, real):
                server.remove(cases, mark)
    print(f"{POLICIES} policies: {dict(outcomes)}, {len(differences)} differences")
    if path := os.environ.get("MASTHEAD_RANDOM_REPORT"):
        Path(path).write_text("\n\n".join(differences), "utf-8")
    # Otherwise the comparison would mean little.
    assert {"policy 201", "policy 422", "POST 201", "POST 422", "POST 201 with warnings"} <= outcomes.keys()
    assert not differences, f"{len(differences)} differences\n" + "\n\n".join(differences[:5])
