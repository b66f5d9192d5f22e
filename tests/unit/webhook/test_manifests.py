"""The manifests of a manager with webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import masthead
from masthead._scaffold.definitions import custom_resources
from masthead._scaffold.manifests import manifests_of
from masthead._scaffold.settings import Deploy
from masthead.api.core.v1 import ConfigMap
from masthead.errors import ConfigError
from masthead.meta import Struct
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from masthead.webhook import AdmissionRequest


class PageSpec(Struct):
    title: str


class OldPage(masthead.CustomResource, group="manifests.example.com", version="v1beta1", kind="Page", storage=False):
    spec: PageSpec


class Page(masthead.CustomResource, group="manifests.example.com", version="v1"):
    spec: PageSpec


def make_manager() -> masthead.Manager:
    app = masthead.Manager("pages")

    @app.validate(ConfigMap)
    @app.mutate(ConfigMap)
    def check(_: AdmissionRequest[ConfigMap], _config: ConfigMap) -> None: ...

    app.convert(OldPage, Page)(lambda old: Page.new(spec=old.spec))
    app.convert(Page, OldPage)(lambda page: OldPage.new(spec=page.spec))
    return app


def deployed(**settings: Any) -> dict[str, list[Any]]:
    app = make_manager()
    return manifests_of(Deploy(app, app.options, "pages:app", "pages:1", "shop", **settings))


def test_service_configurations_and_conversion_name_the_pods() -> None:
    made = deployed()
    assert list(made) == ["crds.yaml", "operator.yaml", "webhooks.yaml"]
    service, mutating, validating = made["webhooks.yaml"]
    assert (service["metadata"]["name"], service["spec"]["ports"]) == (
        "pages-webhook",
        [{"name": "webhooks", "port": 443, "targetPort": "webhooks"}],
    )
    assert [mutating["kind"], validating["kind"]] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
    reference = {"namespace": "shop", "name": "pages-webhook", "port": 443}
    assert validating["webhooks"][0]["clientConfig"] == {
        "service": {**reference, "path": "/validate/check.configmaps.core"}
    }
    [definition] = made["crds.yaml"]
    assert definition["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"service": {**reference, "path": "/convert"}},
            "conversionReviewVersions": ["v1"],
        },
    }
    [container] = made["operator.yaml"][-1]["spec"]["template"]["spec"]["containers"]
    assert {"name": "webhooks", "containerPort": 9443} in container["ports"]
    assert container["lifecycle"] == {"preStop": {"sleep": {"seconds": 5}}}


def test_the_roles_allow_the_certificate_and_the_bundles() -> None:
    roles = {obj["kind"]: obj["rules"] for obj in deployed()["operator.yaml"] if "rules" in obj}
    assert {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]} in roles["Role"]
    named = {
        "apiGroups": [""],
        "resources": ["secrets"],
        "verbs": ["get", "update"],
        "resourceNames": ["pages-webhook"],
    }
    assert named in roles["Role"]
    granted = {(tuple(rule["resources"]), tuple(rule["resourceNames"])) for rule in roles["ClusterRole"]}
    assert granted == {
        (("customresourcedefinitions",), ("pages.manifests.example.com",)),
        (("mutatingwebhookconfigurations", "validatingwebhookconfigurations"), ("pages",)),
    }


def test_cert_manager_issues_and_injects() -> None:
    made = deployed(uses_cert_manager=True)
    kinds = {obj["kind"]: obj for obj in made["webhooks.yaml"]}
    assert kinds["Certificate"]["spec"]["dnsNames"] == [
        "pages-webhook.shop",
        "pages-webhook.shop.svc",
        "pages-webhook.shop.svc.cluster.local",
    ]
    injected = {"cert-manager.io/inject-ca-from": "shop/pages-webhook"}
    assert kinds["ValidatingWebhookConfiguration"]["metadata"]["annotations"] == injected
    assert made["crds.yaml"][0]["metadata"]["annotations"] == injected
    pod = made["operator.yaml"][-1]["spec"]["template"]["spec"]
    assert pod["volumes"][0]["secret"] == {"secretName": "pages-webhook"}
    assert {"name": "MASTHEAD_WEBHOOK_CERT_DIR", "value": "/var/run/masthead/webhook"} in pod["containers"][0]["env"]


def test_webhooks_alone_need_no_leader() -> None:
    budget, deployment = deployed()["operator.yaml"][-2:]
    assert (budget["kind"], budget["spec"]["maxUnavailable"]) == ("PodDisruptionBudget", 1)
    assert budget["spec"]["selector"] == deployment["spec"]["selector"]
    assert deployment["spec"]["replicas"] == 2
    assert "strategy" not in deployment["spec"]
    assert deployed(replicas=3)["operator.yaml"][-1]["spec"]["replicas"] == 3
    kinds = [obj["kind"] for obj in deployed(replicas=1)["operator.yaml"]]
    assert "PodDisruptionBudget" not in kinds


@pytest.mark.parametrize("work", ["controller", "timer"])
def test_webhooks_beside_other_work_need_a_leader_for_two_replicas(work: str) -> None:
    app = make_manager()
    if work == "controller":
        app.controller(ConfigMap)(lambda _: None)
    else:
        app.timer(60)(lambda: None)
    [*_, deployment] = manifests_of(Deploy(app, app.options, "a:app", "a:1", "shop"))["operator.yaml"]
    spec: Any = deployment["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    with pytest.raises(ConfigError, match="elect a leader"):
        Deploy(app, app.options, "a:app", "a:1", "shop", replicas=2)


def test_managers_without_webhooks_have_no_service() -> None:
    app = masthead.Manager("plain")
    app.controller(ConfigMap)(lambda _: None)
    made: Any = manifests_of(Deploy(app, app.options, "a:app", "a:1", "shop"))
    assert list(made) == ["operator.yaml"]
    assert "lifecycle" not in made["operator.yaml"][-1]["spec"]["template"]["spec"]["containers"][0]


def test_versions_without_a_conversion_are_refused() -> None:
    class Note(masthead.CustomResource, group="versions.example.com", version="v1"):
        spec: PageSpec

    class OldNote(masthead.CustomResource, group="versions.example.com", version="v1beta1", kind="Note", storage=False):
        spec: PageSpec

    class NewNote(masthead.CustomResource, group="versions.example.com", version="v2", kind="Note", storage=False):
        spec: PageSpec

    app = masthead.Manager("notes")
    app.convert(OldNote, Note)(lambda old: Note.new(spec=old.spec))
    app.convert(Note, OldNote)(lambda note: OldNote.new(spec=note.spec))
    app.validate(NewNote)(lambda _request, _note: None)
    with pytest.raises(ConfigError, match="served in v2"):
        manifests_of(Deploy(app, app.options, "a:app", "a:1", "shop"))


@in_virtual_time
async def test_the_server_accepts_the_manifests() -> None:
    async with Environment() as env:
        await env.client.apply_manifests([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
        objects = [obj for name, file in deployed().items() if name != "crds.yaml" for obj in file]
        await env.client.apply_manifests(objects)


def test_the_classes_of_the_manager_count_and_not_others_of_their_name() -> None:
    app = make_manager()

    class Page(masthead.CustomResource, group="manifests.example.com", version="v1"):
        """A module that is imported a second time registers its classes again."""

        spec: PageSpec

    assert Page in custom_resources(manager_of(Page))
    assert Page not in custom_resources(app)


def manager_of(kind: type[masthead.CustomResource]) -> masthead.Manager:
    app = masthead.Manager("others")
    app.validate(kind)(lambda _request, _obj: None)
    return app
