"""Rules and selectors of webhooks and policies match requests as kube-apiserver's do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from masthead._meta.gvk import GroupVersionResource
from masthead_server.admission.attributes import AdmissionAttributes, Operation
from masthead_server.admission.matching import RequestMatcher
from masthead_server.clock import VirtualClock
from masthead_server.cluster import ClusterState
from masthead_server.resources.catalog import Catalog
from masthead_server.storage import Storage
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.user_info import UserInfo

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

HPA_V2 = GroupVersionResource("autoscaling", "v2", "horizontalpodautoscalers")
PODS = GroupVersionResource("", "v1", "pods")
NODES = GroupVersionResource("", "v1", "nodes")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")


@pytest.fixture
def cluster() -> ClusterState:
    cluster = ClusterState(Storage(), VirtualClock(), Catalog.builtin())
    cluster.add_first_namespaces()
    return cluster


def request(
    cluster: ClusterState, gvr: GroupVersionResource = PODS, *, namespace: str = "default", **changes: Any
) -> AdmissionAttributes:
    served = cluster.catalog.require(gvr)
    fields: dict[str, Any] = {
        "operation": Operation.CREATE,
        "name": "web",
        "object": {"metadata": {"name": "web", "labels": {"app": "web"}}},
        **changes,
    }
    user = UserInfo("ada")
    return AdmissionAttributes(served=served, kind=served.gvk, namespace=namespace, user=user, **fields)


def rule(**changes: Any) -> Plain:
    return {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["*"],
        "scope": "*",
        **changes,
    }


@pytest.mark.parametrize(
    ("fields", "matches"),
    [
        ({}, True),
        ({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}, True),
        ({"apiGroups": ["apps"]}, False),
        ({"apiVersions": ["v2"]}, False),
        ({"operations": ["UPDATE", "DELETE"]}, False),
        ({"resources": ["pods/*"]}, True),
        ({"resources": ["pods/status"]}, False),
        ({"resources": ["*/*"]}, True),
        ({"scope": "Namespaced"}, True),
        ({"scope": "Cluster"}, False),
        ({"resourceNames": ["web"]}, True),
        ({"resourceNames": ["db"]}, False),
    ],
    ids=str,
)
def test_a_rule_matches_a_pod(cluster: ClusterState, fields: Plain, matches: bool) -> None:
    matcher = RequestMatcher(cluster, {"resourceRules": [rule(**fields)]})
    assert (matcher.match(request(cluster)) is not None) == matches


def test_excluded_rules_win(cluster: ClusterState) -> None:
    matcher = RequestMatcher(
        cluster, {"resourceRules": [rule()], "excludeResourceRules": [rule(resourceNames=["web"])]}
    )
    assert matcher.match(request(cluster)) is None
    assert matcher.match(request(cluster, name="db")) is not None


@pytest.mark.parametrize("policy", ["Equivalent", "Exact"])
def test_match_policy_decides_about_other_versions(cluster: ClusterState, policy: str) -> None:
    matcher = RequestMatcher(
        cluster, {"resourceRules": [rule(apiGroups=["autoscaling"], apiVersions=["v1"])], "matchPolicy": policy}
    )
    found = matcher.match(request(cluster, HPA_V2))
    assert (found.kind.version if found else None) == ("v1" if policy == "Equivalent" else None)


def test_a_request_about_a_namespace_is_cluster_scoped(cluster: ClusterState) -> None:
    attributes = request(cluster, NAMESPACES, namespace="web")
    assert RequestMatcher(cluster, {"resourceRules": [rule(scope="Cluster")]}).match(attributes) is not None
    assert RequestMatcher(cluster, {"resourceRules": [rule(scope="Namespaced")]}).match(attributes) is None


def test_the_object_selector_looks_at_the_old_and_the_new_object(cluster: ClusterState) -> None:
    matcher = RequestMatcher(cluster, {"objectSelector": {"matchLabels": {"app": "web"}}})
    other: Plain = {"metadata": {"labels": {"app": "db"}}}
    assert matcher.match(request(cluster)) is not None
    assert matcher.match(request(cluster, object=other)) is None
    assert matcher.match(request(cluster, object=other, old={"metadata": {"labels": {"app": "web"}}})) is not None


def test_the_namespace_selector_looks_at_the_stored_namespace(cluster: ClusterState) -> None:
    selector = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["default"]}]}
    matcher = RequestMatcher(cluster, {"namespaceSelector": selector})
    assert matcher.match(request(cluster)) is not None
    assert matcher.match(request(cluster, namespace="kube-system")) is None
    assert matcher.match(request(cluster, NODES, namespace="")) is not None
    with pytest.raises(StatusFailure, match='namespaces "gone" not found'):
        matcher.match(request(cluster, namespace="gone"))


def test_a_new_namespace_is_selected_by_its_own_labels(cluster: ClusterState) -> None:
    matcher = RequestMatcher(cluster, {"namespaceSelector": {"matchLabels": {"app": "web"}}})
    assert matcher.match(request(cluster, NAMESPACES, namespace="web")) is not None


def test_a_webhook_without_rules_matches_nothing(cluster: ClusterState) -> None:
    assert RequestMatcher(cluster, {}, rules="rules", matches_without_rules=False).match(request(cluster)) is None
