"""find_orphans.py, on the embedded server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from examples.find_orphans import find_orphans, mentions
from tests.examples.pods import new_deployment, new_pod

from masthead.api.core.v1 import ConfigMap, Namespace, PersistentVolumeClaim, Secret, Service
from masthead.meta import OwnerReference

if TYPE_CHECKING:
    import masthead
    from masthead.meta import JSON

VOLUMES = [
    {"name": "settings", "configMap": {"name": "mounted"}},
    {"name": "all", "projected": {"sources": [{"secret": {"name": "projected"}}]}},
    {"name": "data", "persistentVolumeClaim": {"claimName": "claimed"}},
]


@pytest.fixture
def client(kube_client: masthead.Client) -> masthead.Client:
    """A cluster in which everything is used."""
    core = kube_client.core_v1
    for name in ("mounted", "environment"):
        core.config_maps("default").create(ConfigMap.new(name))
    for name in ("projected", "pull"):
        core.secrets("default").create(Secret.new(name))
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    core.persistent_volume_claims("default").create(PersistentVolumeClaim.new("claimed", spec=claim))
    core.services("default").create(Service.new("web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]}))
    core.pods("default").create(new_pod("web", volumes=VOLUMES))
    container = {"name": "app", "image": "a", "envFrom": [{"configMapRef": {"name": "environment"}}]}
    template = {"containers": [container], "imagePullSecrets": [{"name": "pull"}]}
    kube_client.apps_v1.deployments("default").create(new_deployment("idle", **template))
    return kube_client


def test_what_is_used_is_no_orphan(client: masthead.Client) -> None:
    assert list(find_orphans(client)) == []


def test_what_nothing_uses_is_found_in_its_namespace(client: masthead.Client) -> None:
    core = client.core_v1
    core.namespaces().create(Namespace.new("shop"))
    core.config_maps("shop").create(ConfigMap.new("mounted"))  # of that name there is one that is used elsewhere
    core.secrets("default").create(Secret.new("old", string_data={"a": "b"}))
    core.services("shop").create(Service.new("web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]}))
    core.pods("default").delete("web", grace_period_seconds=0)

    assert list(find_orphans(client, "shop")) == ["ConfigMap shop/mounted", "Service shop/web"]
    assert set(find_orphans(client)) == {
        "ConfigMap default/mounted",
        "ConfigMap shop/mounted",
        "PersistentVolumeClaim default/claimed",
        "Secret default/old",
        "Secret default/projected",
        "Service default/web",
        "Service shop/web",
    }


def test_what_has_an_owner_belongs_to_it(client: masthead.Client) -> None:
    pod = client.core_v1.pods("default").get("web")
    owned = ConfigMap.new("owned")
    owned.metadata.owner_references = [OwnerReference(api_version="v1", kind="Pod", name="web", uid=pod.metadata.uid)]
    client.core_v1.config_maps("default").create(owned)
    assert list(find_orphans(client)) == []


def test_services_without_a_selector_are_left_alone(client: masthead.Client) -> None:
    client.core_v1.services("default").create(Service.new("external", spec={"ports": [{"port": 80}]}))
    assert list(find_orphans(client)) == []


def test_a_name_is_mentioned_in_the_field_that_it_stands_in() -> None:
    tls: JSON = {"spec": {"tls": [{"secretName": "a"}], "rules": [{"host": "b"}]}}
    assert list(mentions(tls)) == [("tls", "a")]
