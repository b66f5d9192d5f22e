"""Objects as a real server sends and takes them."""

from __future__ import annotations

import json
import urllib.error
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from masthead._meta.object import Object
from masthead._meta.quantity import Quantity
from masthead._meta.registry import registry
from masthead._meta.v1 import Status
from masthead.api.apps.v1 import Deployment
from masthead.api.coordination.v1 import Lease
from masthead.api.core.v1 import ConfigMap, Pod
from masthead.api.rbac.v1 import ClusterRole
from masthead.errors import AlreadyExistsError, NotFoundError, StatusError, UnprocessableError, error_from_status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]


def lists_of(server: RealServer) -> Iterator[tuple[type[Object], bytes]]:
    """Every list that the server has for a kind of ours; some kinds are behind a feature gate."""
    for gvk in registry.kinds():
        kind = registry.class_of(gvk)
        if not issubclass(kind, Object) or kind.RESOURCE is None or "list" not in kind.RESOURCE.verbs:
            continue
        try:
            yield kind, server.fetch("GET", f"{gvk.group_version.path}/{kind.RESOURCE.name}")
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise


def failure(server: RealServer, method: str, path: str, body: bytes | None = None, *, verb: str) -> StatusError:
    with pytest.raises(urllib.error.HTTPError) as caught:
        server.fetch(method, path, body)
    with caught.value as answer:
        return error_from_status(Status.from_json(answer.read()), verb=verb)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def test_every_object_of_a_fresh_server_reads_and_writes_without_loss(real_server: RealServer) -> None:
    kinds = objects = 0
    for kind, answer in lists_of(real_server):
        kinds += 1
        for each in registry.list_class(kind.GVK).from_wire(answer):
            objects += 1
            assert each.wire_bytes is not None
            sent = {"apiVersion": kind.GVK.api_version, "kind": kind.GVK.kind, **json.loads(each.wire_bytes)}
            repr(each)
            assert not each.is_modified()
            assert each.to_dict() == sent
            assert without_nulls(kind.from_dict(sent).to_dict()) == without_nulls(sent)

    assert kinds > 70
    assert objects > 100


def test_a_deployment_is_created_read_changed_and_updated(real_server: RealServer) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    wanted = Deployment.new(
        "web",
        namespace="default",
        spec={
            "replicas": 0,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "0.5"}}}]},
            },
        },
    )
    made = Deployment.from_wire(real_server.fetch("POST", path, wanted.to_json()))
    assert (made.spec.replicas, made.metadata.generation) == (0, 1)
    assert made.spec.template.spec.containers[0].resources.limits == {"cpu": Quantity("500m")}

    made.spec.template.spec.containers[0].ports.append({"containerPort": 80})  # type: ignore[arg-type]
    updated = Deployment.from_wire(real_server.fetch("PUT", f"{path}/web", made.to_json()))
    assert updated.metadata.generation == 2
    assert updated.spec.template.spec.containers[0].ports[0].protocol == "TCP"

    rewritten = Deployment.from_dict(updated.to_dict())
    again = Deployment.from_wire(real_server.fetch("PUT", f"{path}/web", rewritten.to_json()))
    assert again.metadata.resource_version == updated.metadata.resource_version


def test_a_lease_keeps_times_to_the_microsecond(real_server: RealServer) -> None:
    lease = Lease.new("l", namespace="default", spec={"holderIdentity": "me"})
    lease.spec.renew_time = datetime(2026, 1, 1, tzinfo=UTC)

    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    made = Lease.from_wire(real_server.fetch("POST", path, lease.to_json()))

    assert made.spec.renew_time == datetime(2026, 1, 1, tzinfo=UTC)


def test_null_for_a_list_comes_from_the_server_itself(real_server: RealServer) -> None:
    role = ClusterRole.new("all", aggregation_rule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]})
    answer = real_server.fetch("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role.to_json())

    assert b'"rules":null' in answer
    assert ClusterRole.from_wire(answer).rules == []


def test_status_times_are_accepted_and_bytes_are_returned(real_server: RealServer) -> None:
    pods = "/api/v1/namespaces/default/pods"
    pod = Pod.new("p", namespace="default", spec={"containers": [{"name": "c", "image": "i"}]})
    made = Pod.from_wire(real_server.fetch("POST", pods, pod.to_json()))
    made.status.phase = "Running"
    made.status.start_time = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
    updated = Pod.from_wire(real_server.fetch("PUT", f"{pods}/p/status", made.to_json()))
    assert updated.status.start_time == datetime(2026, 1, 1, 12, tzinfo=UTC)

    config = ConfigMap.new("c", namespace="default", binary_data={"x": b"\x00\xff"})
    path = "/api/v1/namespaces/default/configmaps"
    assert ConfigMap.from_wire(real_server.fetch("POST", path, config.to_json())).binary_data == {"x": b"\x00\xff"}


def test_failures_become_the_errors_of_their_reasons(real_server: RealServer) -> None:
    pods = "/api/v1/namespaces/default/pods"

    missing = failure(real_server, "GET", f"{pods}/nope", verb="get")
    assert type(missing) is NotFoundError
    assert (missing.resource, missing.name) == ("pods", "nope")

    invalid = failure(real_server, "POST", pods, Pod.new("p").to_json(), verb="create")
    assert type(invalid) is UnprocessableError
    assert invalid.details is not None
    assert invalid.details.causes[0].field == "spec.containers"

    config = ConfigMap.new("twice", namespace="default").to_json()
    real_server.fetch("POST", "/api/v1/namespaces/default/configmaps", config)
    twice = failure(real_server, "POST", "/api/v1/namespaces/default/configmaps", config, verb="create")
    assert type(twice) is AlreadyExistsError
