"""What kubectl does when it edits, patches, scales and the like: who manages the fields then, on both servers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.real.manifests import config_map, deployment
from tests.server.kubectl import KUBECTL

if TYPE_CHECKING:
    from tests.real.both_servers import BothServers

pytestmark = [
    pytest.mark.real,
    pytest.mark.xdist_group("real"),
    pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here"),
]


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
def test_a_change_belongs_to_the_manager_that_made_it(both: BothServers, edit: str, origin: str) -> None:
    both(*origin.split(), "-f", "-", stdin=deployment())
    both(*EDITS[edit], env={"KUBE_EDITOR": "sed -i -e s/web:1/web:2/ -e 's/status: {}/status: {replicas: 2}/'"})

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
    edited = both("edit", "deployment/web", env={"KUBE_EDITOR": "sed -i 's/replicas: 2/replicas: -1/'"}, code=1)

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
