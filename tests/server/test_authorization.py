"""Authorization: settings, and what roles mean for requests of the server's own clients."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

import masthead.server
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from masthead.server import Server

GROUP = "rbac.authorization.k8s.io"
PODS = "/api/v1/namespaces/default/pods"


def call(server: Server, method: str, path: str, body: object = None, user: str = "") -> tuple[int, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(
        f"{server.url}{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={**headers, **({"Impersonate-User": user} if user else {})},
    )
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def allow(server: Server, user: str, verb: str, resource: str) -> None:
    """Give a user a ClusterRole."""
    role = {"metadata": {"name": user}, "rules": [{"verbs": [verb], "apiGroups": [""], "resources": [resource]}]}
    binding = {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": user},
        "subjects": [{"kind": "User", "name": user, "apiGroup": GROUP}],
    }
    assert call(server, "POST", f"/apis/{GROUP}/v1/clusterroles", role)[0] == 201
    assert call(server, "POST", f"/apis/{GROUP}/v1/clusterrolebindings", binding)[0] == 201


def test_without_the_setting_everyone_may_do_everything() -> None:
    with masthead.server.run() as server:
        assert call(server, "GET", PODS, user="jane")[0] == 200


@pytest.mark.parametrize("modes", ["rbac", "RBAC", "Node,RBAC", " node , rbac "])
def test_rbac_refuses_what_no_role_allows(modes: str) -> None:
    with masthead.server.run(authorization=modes) as server:
        status, refusal = call(server, "GET", PODS, user="jane")
        assert (status, refusal["reason"]) == (403, "Forbidden")
        assert call(server, "GET", PODS)[0] == 200


def test_always_deny_lets_the_superuser_alone_in() -> None:
    with masthead.server.run(authorization="always-deny") as server:
        _, refusal = call(server, "GET", PODS, user="jane")
        assert refusal["message"].endswith('in the namespace "default": Everything is forbidden.')
        assert call(server, "GET", PODS)[0] == 200


@pytest.mark.parametrize(
    ("modes", "problem"),
    [
        ("", "there is no authorization mode ''"),
        ("rbca", "there is no authorization mode 'rbca'; there are always-allow, always-deny, node and rbac, also"),
        ("rbac,RBAC", "the authorization mode RBAC is there twice"),
        (
            "webhook",
            "the mode webhook is not supported; there are always-allow, always-deny, node and rbac, also",
        ),
        (7, "authorization must be text, such as 'rbac' or 'node,rbac', or None, not 7"),
    ],
    ids=["empty", "unknown", "twice", "unsupported", "no text"],
)
def test_a_bad_mode_is_explained(modes: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as caught, masthead.server.run(authorization=modes):
        pass
    assert problem in str(caught.value)


def test_roles_of_an_earlier_run_count(tmp_path: Path) -> None:
    file = tmp_path / "data"
    with masthead.server.run(data=file, authorization="rbac") as server:
        allow(server, "jane", "list", "pods")
        assert call(server, "GET", PODS, user="jane")[0] == 200
    with masthead.server.run(data=file, authorization="rbac") as server:
        assert call(server, "GET", PODS, user="jane")[0] == 200
        call(server, "DELETE", f"/apis/{GROUP}/v1/clusterrolebindings/jane")
        assert call(server, "GET", PODS, user="jane")[0] == 403


def test_pods_of_an_earlier_run_give_access_to_their_secrets(tmp_path: Path) -> None:
    file = tmp_path / "data"
    question = {"verb": "get", "resource": "secrets", "namespace": "default", "name": "pull"}
    spec = {"user": "system:node:n", "groups": ["system:nodes"], "resourceAttributes": question}
    pod = {
        "metadata": {"name": "a"},
        "spec": {
            "nodeName": "n",
            "containers": [{"name": "c", "image": "i"}],
            "imagePullSecrets": [{"name": "pull"}],
        },
    }
    with masthead.server.run(data=file) as server:
        assert call(server, "POST", PODS, pod)[0] == 201
    with masthead.server.run(data=file, authorization="node,rbac") as server:
        _, review = call(server, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
        assert review["status"] == {"allowed": True}


def test_aggregated_roles_gain_rules() -> None:
    with masthead.server.run(authorization="rbac") as server:
        binding = {
            "metadata": {"name": "jane"},
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "User", "name": "jane", "apiGroup": GROUP}],
        }
        call(server, "POST", f"/apis/{GROUP}/v1/namespaces/default/rolebindings", binding)
        assert call(server, "GET", PODS, user="jane")[0] == 200
        websites = "/apis/example.com/v1/namespaces/default/websites"
        assert call(server, "GET", websites, user="jane")[0] == 403
        role = {
            "metadata": {"name": "websites", "labels": {f"{GROUP}/aggregate-to-view": "true"}},
            "rules": [{"verbs": ["list"], "apiGroups": ["example.com"], "resources": ["websites"]}],
        }
        call(server, "POST", f"/apis/{GROUP}/v1/clusterroles", role)
        server.block_until_idle()
        question = {"verb": "list", "group": "example.com", "resource": "websites", "namespace": "default"}
        body = {"spec": {"resourceAttributes": question}}
        _, review = call(server, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body, "jane")
        assert review["status"]["allowed"]


def test_controllers_of_the_server_need_no_roles() -> None:
    with masthead.server.run(authorization="rbac", workloads=True, kubelet=True) as server:
        deployment = {
            "metadata": {"name": "web"},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"a": "b"}},
                "template": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            },
        }
        call(server, "POST", "/apis/apps/v1/namespaces/default/deployments", deployment)
        server.block_until_idle()
        assert [pod["status"]["phase"] for pod in call(server, "GET", PODS)[1]["items"]] == ["Running"] * 2
        call(server, "DELETE", "/apis/apps/v1/namespaces/default/deployments/web")
        server.block_until_idle()
        assert call(server, "GET", PODS)[1]["items"] == []
