"""The indices of authorizers: after any sequence of writes they know what a fresh one would read."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from masthead_server.authorization.authorizer import AuthorizationAttributes
from masthead_server.authorization.node_graph import NodeGraph, Vertex
from masthead_server.authorization.rbac import RbacAuthorizer
from masthead_server.authorization.role_index import RBAC_GROUP, RoleIndex
from masthead_server.clock import SystemClock
from masthead_server.cluster import ClusterState
from masthead_server.resources.catalog import Catalog
from masthead_server.storage import Storage
from masthead_server.wire.user_info import UserInfo

Plain = dict[str, Any]

NAMES = ("a", "b")
NODES = ("n1", "n2")
USERS = tuple(
    UserInfo(name, groups=groups)
    for name in ("a", "b", "system:serviceaccount:ns:a")
    for groups in ((), ("a",), ("a", "b"))
)
REQUESTS = tuple(
    AuthorizationAttributes(user, verb, namespace=namespace, resource="pods")
    for user in USERS
    for verb in ("get", "list")
    for namespace in ("", "ns", "other")
)
VERTICES = tuple(
    Vertex(resource, namespace, name)
    for resource, namespace in (
        ("secrets", "ns"),
        ("pods", "ns"),
        ("persistentvolumeclaims", "ns"),
        ("persistentvolumes", ""),
        ("volumeattachments", ""),
    )
    for name in NAMES
)
names = st.sampled_from(NAMES)


def cluster_state() -> ClusterState:
    return ClusterState(Storage(), SystemClock(), Catalog.builtin())


def write(cluster: ClusterState, table: str, key: str, body: Plain | None) -> None:
    """Store an object, or remove it if there is no body."""
    served = cluster.catalog.stored_in(table)
    assert served is not None
    record = cluster.storage.table(table).get(key)
    if body is None:
        if record is not None:
            cluster.remove(served, key, served.load(record))
        return
    namespace, _, name = key.rpartition("/")
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    cluster.write(served, key, {**body, "metadata": metadata})


rules = st.lists(
    st.fixed_dictionaries(
        {
            "verbs": st.lists(st.sampled_from(["get", "list"]), min_size=1, max_size=2),
            "apiGroups": st.just([""]),
            "resources": st.just(["pods"]),
        }
    ),
    max_size=2,
)
roles = st.fixed_dictionaries({"rules": rules})
subjects = st.builds(
    lambda kind, name: {"kind": kind, "name": name, **({"namespace": "ns"} if kind == "ServiceAccount" else {})},
    st.sampled_from(["User", "Group", "ServiceAccount"]),
    names,
)
bindings = st.builds(
    lambda kind, name, who: {"roleRef": {"kind": kind, "name": name, "apiGroup": RBAC_GROUP}, "subjects": who},
    st.sampled_from(["Role", "ClusterRole"]),
    names,
    st.lists(subjects, max_size=3),
)
role_writes = st.one_of(
    st.tuples(st.just(f"{RBAC_GROUP}/clusterroles"), names, st.none() | roles),
    st.tuples(st.just(f"{RBAC_GROUP}/roles"), names.map("ns/{}".format), st.none() | roles),
    st.tuples(st.just(f"{RBAC_GROUP}/clusterrolebindings"), names, st.none() | bindings),
    st.tuples(st.just(f"{RBAC_GROUP}/rolebindings"), names.map("ns/{}".format), st.none() | bindings),
)


@settings(max_examples=25)
@given(st.lists(role_writes, max_size=12))
def test_roles_and_bindings_are_known_after_any_writes(writes: list[tuple[str, str, Plain | None]]) -> None:
    cluster = cluster_state()
    known = RbacAuthorizer(RoleIndex(cluster))
    for table, key, body in writes:
        write(cluster, table, key, body)
    fresh = RbacAuthorizer(RoleIndex(cluster))

    for request in REQUESTS:
        assert known.authorize(request) == fresh.authorize(request)
        assert known.rules_for(request.user, request.namespace) == fresh.rules_for(request.user, request.namespace)


def pod(node: str, secrets: list[str], claims: list[str]) -> Plain:
    volumes = [{"name": f"v{at}", "persistentVolumeClaim": {"claimName": claim}} for at, claim in enumerate(claims)]
    return {
        "spec": {
            "nodeName": node,
            "containers": [],
            "volumes": volumes,
            "imagePullSecrets": [{"name": secret} for secret in secrets],
        }
    }


def volume(claim: str, secret: str) -> Plain:
    reference = {"name": secret, "namespace": "ns"}
    return {
        "spec": {
            "claimRef": {"name": claim, "namespace": "ns"},
            "csi": {"driver": "d", "volumeHandle": "h", "nodeStageSecretRef": reference},
        }
    }


def attachment(node: str) -> Plain:
    return {"spec": {"attacher": "a", "nodeName": node, "source": {"persistentVolumeName": "a"}}}


some_names = st.lists(names, max_size=2)
nodes = st.sampled_from(NODES)
graph_writes = st.one_of(
    st.tuples(
        st.just("pods"),
        names.map("ns/{}".format),
        st.none() | st.builds(pod, st.sampled_from([*NODES, ""]), some_names, some_names),
    ),
    st.tuples(st.just("persistentvolumes"), names, st.none() | st.builds(volume, names, names)),
    st.tuples(st.just("storage.k8s.io/volumeattachments"), names, st.none() | st.builds(attachment, nodes)),
)


@settings(max_examples=60)
@given(st.lists(st.tuples(graph_writes, st.booleans()), max_size=12))
def test_the_objects_of_a_node_are_known_after_any_writes(
    writes: list[tuple[tuple[str, str, Plain | None], bool]],
) -> None:
    cluster = cluster_state()
    known = NodeGraph(cluster)
    for (table, key, body), is_asked in writes:
        write(cluster, table, key, body)
        if is_asked:  # the graph reads changes when somebody asks
            known.leads_to(VERTICES[0], NODES[0])
    fresh = NodeGraph(cluster)

    for node in NODES:
        for vertex in VERTICES:
            assert known.leads_to(vertex, node) is fresh.leads_to(vertex, node)


def test_a_secret_of_a_volume_leads_to_the_node_of_its_claim() -> None:
    cluster = cluster_state()
    graph = NodeGraph(cluster)
    write(cluster, "persistentvolumes", "a", volume("b", "a"))
    assert not graph.leads_to(Vertex("secrets", "ns", "a"), "n1")
    write(cluster, "pods", "ns/a", pod("n1", [], ["b"]))
    assert graph.leads_to(Vertex("secrets", "ns", "a"), "n1")
    assert not graph.leads_to(Vertex("secrets", "ns", "a"), "n2")
    write(cluster, "pods", "ns/a", None)
    assert not graph.leads_to(Vertex("secrets", "ns", "a"), "n1")
