"""pods_by_node.py, on the embedded server."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from examples.pods_by_node import pods_by_node
from tests.examples.pods import new_pod

from masthead.meta import Patch

if TYPE_CHECKING:
    import masthead


def test_it_follows_what_changes(kube_client: masthead.Client) -> None:
    pods = kube_client.core_v1.pods("default")
    pods.create(new_pod("a", node="node-1"))
    pods.create(new_pod("waiting"))
    with closing(pods_by_node(kube_client)) as live:
        assert next(live) == {"node-1": 1}

        pods.create(new_pod("b", node="node-2"))
        assert next(live) == {"node-1": 1, "node-2": 1}
        pods.delete("a", grace_period_seconds=0)
        assert next(live) == {"node-2": 1}


def test_pods_that_have_ended_do_not_count(kube_client: masthead.Client) -> None:
    pods = kube_client.core_v1.pods("default")
    pods.create(new_pod("a", node="node-1"))
    pods.create(new_pod("b", node="node-1"))
    with closing(pods_by_node(kube_client)) as live:
        assert next(live) == {"node-1": 2}
        pods.patch_status("b", Patch.merge({"status": {"phase": "Succeeded"}}))
        assert next(live) == {"node-1": 1}


def test_a_cluster_without_pods_has_no_nodes_to_show(kube_client: masthead.Client) -> None:
    with closing(pods_by_node(kube_client)) as live:
        assert next(live) == {}
