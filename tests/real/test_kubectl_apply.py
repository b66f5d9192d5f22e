"""What kubectl says and does when it applies and compares, on the embedded server and on a real one.

Each command is run against both; exit codes, output, objects and managed fields must be the same.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.real.manifests import Plain, config_map, deployment, listed, service
from tests.server.kubectl import KUBECTL

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real.both_servers import BothServers

pytestmark = [
    pytest.mark.real,
    pytest.mark.xdist_group("real"),
    pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here"),
]

# -- Server-side --


def test_apply_creates_then_changes_and_is_repeated_without_a_change(both: BothServers) -> None:
    applied = both("apply", "--server-side", "-f", "-", stdin=deployment()).stdout
    assert applied == "deployment.apps/web serverside-applied\n"
    before = both.object("deployment/web")

    both("apply", "--server-side", "-f", "-", stdin=deployment())
    assert both.object("deployment/web") == before

    both("apply", "--server-side", "-f", "-", stdin=deployment("web:2", replicas=None, env=[{"name": "A"}]))
    assert both.managers("deployment/web") == [("kubectl", "Apply", "")]
    assert both.object("deployment/web")["spec"]["replicas"] == 1, "nobody declares it any more"


def test_what_another_manager_set_conflicts_until_it_is_forced(both: BothServers) -> None:
    both("apply", "--server-side", "-f", "-", stdin=listed(deployment(), config_map(a="1", b="1")))
    changed = listed(deployment("web:2", replicas=5), config_map(a="2", b="1"))
    other = ("apply", "--server-side", "--field-manager=other", "-f", "-")

    refused = both(*other, stdin=changed, code=1)
    assert 'conflict with "kubectl"' in refused.stderr
    assert ".data.a" in refused.stderr
    assert '.spec.template.spec.containers[name="main"].image' in refused.stderr
    assert "--force-conflicts" in refused.stderr

    both(*other, "--force-conflicts", stdin=changed)
    assert both.object("configmap/settings")["data"] == {"a": "2", "b": "1"}
    assert ("other", "Apply", "") in both.managers("deployment/web")
    both("apply", "--server-side", "-f", "-", stdin=changed)
    both("apply", "--server-side", "-f", "-", stdin=deployment(), code=1)


def test_what_is_not_applied_any_more_is_removed_unless_another_declares_it(both: BothServers) -> None:
    both("apply", "--server-side", "-f", "-", stdin=config_map(mine="1", shared="1"))
    both("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=config_map(shared="1", its="1"))

    both("apply", "--server-side", "-f", "-", stdin=config_map())
    assert both.object("configmap/settings")["data"] == {"shared": "1", "its": "1"}


def test_ports_of_a_service_are_applied_by_their_keys(both: BothServers) -> None:
    both("apply", "--server-side", "-f", "-", stdin=service(80, 443))
    both("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=service(8080))
    both("apply", "--server-side", "-f", "-", stdin=service(443))

    ports = both.object("service/web")["spec"]["ports"]
    assert [port["port"] for port in ports] == [443, 8080]


def test_status_is_applied_through_its_subresource(both: BothServers) -> None:
    both("apply", "--server-side", "-f", "-", stdin=deployment())
    status = {**deployment(), "status": {"replicas": 2, "observedGeneration": 1}}
    status.pop("spec")
    both(
        "apply",
        "--server-side",
        "--subresource=status",
        "--field-manager=controller",
        "-f",
        "-",
        stdin=status,
    )

    assert ("controller", "Apply", "status") in both.managers("deployment/web")
    assert both.object("deployment/web")["status"] == {"observedGeneration": 1, "replicas": 2}


def test_a_dry_run_says_what_would_be_and_leaves_nothing(both: BothServers) -> None:
    options = ("apply", "--server-side", "--dry-run=server", "-o", "json", "--show-managed-fields", "-f", "-")
    both(*options, stdin=deployment())
    both("get", "deployment/web", code=1)

    both("apply", "--server-side", "-f", "-", stdin=deployment())
    before = both.object("deployment/web")
    shown = both(*options, stdin=deployment("web:2")).stdout
    assert "web:2" in shown
    assert both.object("deployment/web") == before


@pytest.mark.parametrize(
    "body",
    [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dada": {}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": 1}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "managedFields": [{}]}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "A B"}},
        {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}},
        {**deployment(), "spec": {}},
        deployment(ports=[{"containerPort": 80}, {"containerPort": 80}]),
        deployment(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
    ],
)
@pytest.mark.parametrize("validate", ["strict", "ignore"])
def test_what_cannot_be_applied_is_refused_in_the_same_words(both: BothServers, body: Plain, validate: str) -> None:
    command = ("apply", "--server-side", f"--validate={validate}", "-f", "-")
    text = json.dumps(body)
    theirs = both.real.run((str(KUBECTL), "--namespace", both.namespace, *command), text)
    assert both(*command, stdin=text, code=theirs.code) == theirs


def test_custom_resources_are_applied(both: BothServers) -> None:
    group = f"{both.namespace}.example.com"
    both("apply", "--server-side", "-f", "-", stdin=definition_in(group))
    both.wait("get", f"gadgets.{group}")

    def gadget(**spec: object) -> Plain:
        metadata = {"name": "one"}
        return {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": metadata, "spec": spec}

    first = gadget(size=1, parts=[{"name": "a", "count": 1}, {"name": "b"}], tags=["x"], any={"deep": [1]})
    both("apply", "--server-side", "-f", "-", stdin=first)
    second = gadget(parts=[{"name": "c"}], tags=["y"])
    both("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=second)
    both("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=gadget(size=2), code=1)
    both("apply", "--server-side", "-f", "-", stdin=gadget(size=1, tags=["z"]))
    both("patch", f"gadget.{group}/one", "--type=merge", "-p", '{"spec":{"any":{"deep":{}}}}')
    both(
        "patch",
        f"gadget.{group}/one",
        "--type=merge",
        "--subresource=status",
        "-p",
        '{"status":{"ready":true}}',
    )

    found = both.object(f"gadget.{group}/one")
    assert found["spec"]["parts"] == [{"name": "c", "count": 7}]
    assert sorted(found["spec"]["tags"]) == ["y", "z"]
    both("delete", f"crd/gadgets.{group}")


def definition_in(group: str) -> Plain:
    part = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 7}},
    }
    spec = {
        "type": "object",
        "properties": {
            "size": {"type": "integer"},
            "parts": {
                "type": "array",
                "items": part,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
            "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    status = {"type": "object", "properties": {"ready": {"type": "boolean"}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
    }
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


# -- Client-side, and from there to the server's side --


def test_client_side_apply_merges_three_ways(both: BothServers) -> None:
    assert both("apply", "-f", "-", stdin=deployment()).stdout == "deployment.apps/web created\n"
    assert both("apply", "-f", "-", stdin=deployment()).stdout == "deployment.apps/web unchanged\n"
    both("scale", "deployment/web", "--replicas=4")
    assert ("kubectl", "Update", "scale") in both.managers("deployment/web")

    changed = deployment("web:2", replicas=None, env=[{"name": "A", "value": "1"}])
    assert both("apply", "-f", "-", stdin=changed).stdout == "deployment.apps/web configured\n"
    assert both.managers("deployment/web") == [("kubectl-client-side-apply", "Update", "")]
    assert both.object("deployment/web")["spec"]["replicas"] == 1, "it was declared before, and is not any more"


def test_objects_applied_client_side_can_be_applied_server_side(both: BothServers) -> None:
    both("apply", "-f", "-", stdin=deployment(env=[{"name": "A", "value": "1"}]))
    both("apply", "--server-side", "-f", "-", stdin=deployment())

    managers = {manager for manager, _, _ in both.managers("deployment/web")}
    assert managers == {"kubectl", "kubectl-last-applied"}
    found = both.object("deployment/web")
    assert "env" not in found["spec"]["template"]["spec"]["containers"][0]
    both("apply", "-f", "-", stdin=deployment("web:3"))
    both("apply", "view-last-applied", "deployment/web")


def test_the_last_applied_configuration_is_set_and_edited(both: BothServers, tmp_path: Path) -> None:
    manifest = tmp_path / "settings.json"
    manifest.write_text(json.dumps(config_map(a="1")))
    both("create", "-f", str(manifest))
    both("apply", "set-last-applied", "--create-annotation", "-f", str(manifest))
    both("apply", "edit-last-applied", "configmap/settings", env={"KUBE_EDITOR": "sed -i 's/ a:/ b:/'"})

    both.object("configmap/settings")
    both("apply", "-f", "-", stdin=config_map(c="1"))
    assert both.object("configmap/settings")["data"] == {"a": "1", "c": "1"}


def test_objects_that_are_not_in_the_set_any_more_are_pruned_by_label(both: BothServers) -> None:
    first, second = (config_map(name, {"set": "one"}, a="1") for name in ("first", "second"))
    prune = ("apply", "--prune", "-l", "set=one", "--prune-allowlist=core/v1/ConfigMap", "-f", "-")
    both(*prune, stdin=listed(first, second))

    pruned = both(*prune, stdin=listed(second)).stdout
    assert "configmap/first pruned" in pruned
    both("get", "configmap/first", code=1)


@pytest.mark.parametrize("parent", ["secrets", "configmaps"])
def test_objects_that_are_not_in_the_apply_set_any_more_are_pruned(both: BothServers, parent: str) -> None:
    command = ("apply", "--prune", f"--applyset={parent}/members", "--server-side", "-f", "-")
    env = {"KUBECTL_APPLYSET": "true"}
    both(*command, stdin=listed(config_map("first"), service(80)), env=env)

    assert "service/web pruned" in both(*command, stdin=listed(config_map("first")), env=env).stdout
    both.object(f"{parent}/members")
    both.object("configmap/first")


# -- Diff --


@pytest.mark.parametrize("side", ["--server-side", "--server-side=false"])
def test_diff_shows_what_apply_would_change(both: BothServers, side: str) -> None:
    both("apply", side, "-f", "-", stdin=listed(deployment(), config_map(a="1")))

    both("diff", side, "-f", "-", stdin=listed(deployment(), config_map(a="1")))
    shown = both("diff", side, "-f", "-", stdin=listed(deployment("web:2"), config_map(a="2")), code=1)
    assert "-        image: web:1\n" in shown.stdout or "-      - image: web:1\n" in shown.stdout
    both("diff", side, "-f", "-", stdin=config_map("new", a="1"), code=1)


def test_diff_of_a_conflict_is_refused_until_it_is_forced(both: BothServers) -> None:
    both("apply", "--server-side", "-f", "-", stdin=config_map(a="1"))
    other = ("diff", "--server-side", "--field-manager=other", "-f", "-")

    refused = both(*other, stdin=config_map(a="2"), code=2)
    assert 'conflict with "kubectl"' in refused.stderr
    both(*other, "--force-conflicts", stdin=config_map(a="2"), code=1)
