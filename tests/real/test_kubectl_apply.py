"""What kubectl says and does when it applies, diffs, edits and patches, on the embedded server and on a real one.

Each command is run against both; exit codes, output, objects and managed fields must be the same.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.kubectl import KUBECTL

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real.both_servers import BothServers

pytestmark = [
    pytest.mark.real,
    pytest.mark.xdist_group("real"),
    pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here"),
]

Plain = dict[str, Any]


def config_map(name: str = "settings", labels: dict[str, str] | None = None, **data: str) -> Plain:
    metadata = {"name": name, "labels": labels} if labels else {"name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(image: str = "web:1", replicas: int | None = 2, **container: object) -> Plain:
    main = {"name": "main", "image": image, "ports": [{"containerPort": 80}], **container}
    spec: Plain = {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [main]}},
    }
    if replicas is not None:
        spec["replicas"] = replicas
    metadata = {"name": "web", "labels": {"app": "web"}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def service(*ports: int) -> Plain:
    named = [{"name": f"port-{port}", "port": port} for port in ports]
    spec = {"selector": {"app": "web"}, "ports": named}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}


def listed(*items: Plain) -> Plain:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


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
    assert [each["port"] for each in ports] == [443, 8080]


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
def test_what_cannot_be_applied_is_refused_in_the_same_words(
    both: BothServers, body: Plain, validate: str
) -> None:
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
    assert both.object("deployment/web")["spec"]["replicas"] == 1, (
        "it was declared before, and is not any more"
    )


def test_what_was_applied_client_side_goes_on_server_side(both: BothServers) -> None:
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


# -- Other commands that write --


EDITS: dict[str, tuple[str, ...]] = {
    "set image": ("set", "image", "deployment/web", "main=web:2"),
    "set env": ("set", "env", "deployment/web", "A=1", "B=2"),
    "set resources": ("set", "resources", "deployment/web", "--limits=cpu=200m", "--requests=cpu=100m"),
    "set serviceaccount": ("set", "serviceaccount", "deployment/web", "robot"),
    "scale": ("scale", "deployment/web", "--replicas=5"),
    "label": ("label", "deployment/web", "one=1", "two=2"),
    "label, changed": ("label", "--overwrite", "deployment/web", "app=other"),
    "label, removed": ("label", "deployment/web", "app-"),
    "annotate": ("annotate", "deployment/web", "one=1"),
    "autoscale": ("autoscale", "deployment", "web", "--min=1", "--max=3"),
    "expose": ("expose", "deployment/web", "--port=80"),
    "rollout pause": ("rollout", "pause", "deployment/web"),
    "strategic merge patch": (
        *("patch", "deployment/web", "-p"),
        '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:1"}]}}}}',
    ),
    "merge patch": (
        *("patch", "deployment/web", "--type=merge", "-p"),
        '{"spec":{"replicas":null},"metadata":{"labels":{"app":null,"new":"1"}}}',
    ),
    "JSON patch": (
        *("patch", "deployment/web", "--type=json", "-p"),
        '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"web:2"}]',
    ),
    "patch of the status": (
        *("patch", "deployment/web", "--subresource=status", "-p"),
        '{"status":{"conditions":[{"type":"Available","status":"True"}]}}',
    ),
    "patch of the scale": ("patch", "deployment/web", "--subresource=scale", "-p", '{"spec":{"replicas":7}}'),
    "patch by a manager": ("patch", "deployment/web", "--field-manager=me", "-p", '{"spec":{"replicas":7}}'),
    "patch without a change": ("patch", "deployment/web", "-p", '{"spec":{"replicas":2}}'),
    "edit": ("edit", "deployment/web"),
    "edit of the status": ("edit", "deployment/web", "--subresource=status"),
}


@pytest.mark.parametrize("origin", ["create", "apply --server-side"])
@pytest.mark.parametrize("edit", EDITS)
def test_a_change_is_managed_by_who_made_it(both: BothServers, edit: str, origin: str) -> None:
    both(*origin.split(), "-f", "-", stdin=deployment())
    both(
        *EDITS[edit], env={"KUBE_EDITOR": "sed -i -e s/web:1/web:2/ -e 's/status: {}/status: {replicas: 2}/'"}
    )

    both.object("deployment/web")
    again = both("apply", "--server-side", "-f", "-", stdin=deployment(), code=again_code(both))
    assert "serverside-applied" in again.stdout or "conflict" in again.stderr


def again_code(both: BothServers) -> int:
    """What a dry run of applying it again ends with on the real server."""
    command = (
        str(KUBECTL),
        "--namespace",
        both.namespace,
        "apply",
        "--server-side",
        "--dry-run=server",
        "-f",
        "-",
    )
    return both.real.run(command, json.dumps(deployment())).code


def test_rollout_restart_is_a_change_of_one_annotation(both: BothServers) -> None:
    both("apply", "--server-side", "-f", "-", stdin=deployment())
    both("rollout", "restart", "deployment/web")

    assert both.managers("deployment/web") == [("kubectl", "Apply", ""), ("kubectl-rollout", "Update", "")]
    both("apply", "--server-side", "-f", "-", stdin=deployment("web:2"))
    annotations = both.object("deployment/web")["spec"]["template"]["metadata"]["annotations"]
    assert "kubectl.kubernetes.io/restartedAt" in annotations


def test_an_invalid_edit_is_refused(both: BothServers) -> None:
    both("create", "-f", "-", stdin=deployment())
    edited = both(
        "edit", "deployment/web", env={"KUBE_EDITOR": "sed -i 's/replicas: 2/replicas: -1/'"}, code=1
    )

    assert "is invalid" in edited.stderr


def test_replace_takes_everything_that_it_changes(both: BothServers) -> None:
    both("apply", "--server-side", "-f", "-", stdin=deployment())
    both("replace", "-f", "-", stdin=deployment("web:2", replicas=3))
    assert both.managers("deployment/web") == [("kubectl", "Apply", ""), ("kubectl-replace", "Update", "")]

    both("replace", "--force", "-f", "-", stdin=deployment("web:3"))
    assert both.managers("deployment/web") == [("kubectl-replace", "Update", "")]


def test_managed_fields_are_shown_only_when_they_are_asked_for(both: BothServers) -> None:
    both("create", "configmap", "settings", "--from-literal=a=1", "--field-manager=me")

    assert "managedFields" not in both("get", "configmap/settings", "-o", "yaml").stdout
    assert "manager: me" in both("get", "configmap/settings", "-o", "yaml", "--show-managed-fields").stdout
    columns = "custom-columns=MANAGERS:.metadata.managedFields[*].manager"
    assert both("get", "configmap/settings", "-o", columns).stdout == "MANAGERS\nme\n"


def test_managed_fields_are_reset_by_an_empty_entry(both: BothServers) -> None:
    both("create", "configmap", "settings", "--from-literal=a=1")
    both("patch", "configmap/settings", "--type=merge", "-p", '{"metadata":{"managedFields":[{}]}}')

    assert "managedFields" not in both.object("configmap/settings")["metadata"]
    both("apply", "--server-side", "-f", "-", stdin=config_map(a="1", b="2"))
    both("annotate", "configmap/settings", "one=1")
    both.object("configmap/settings")
