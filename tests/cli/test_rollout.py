"""``masthead rollout``: progress, history, and the way back."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.kubectl import Kubectl, needs_current_kubectl

import masthead
import masthead.server
from masthead._cli.failures import CommandError
from masthead._cli.rollout_wait import follow_rollout
from masthead._cli.workloads import SelectedWorkload
from masthead.api.core.v1 import Namespace
from masthead.meta import Patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Ran

    from masthead.server import Server

    Cli = Callable[..., Ran]

KINDS = {"Deployment": "deploy", "DaemonSet": "ds", "StatefulSet": "sts"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with a workload of each kind, ``old``, at its second revision."""
    with (
        masthead.server.run(workloads=True, kubelet=True) as running,
        masthead.Client(kubeconfig=running.kubeconfig()) as client,
    ):
        client.core_v1.namespaces().create(Namespace.new("shop"))
        for kind in KINDS:
            roll_out(running, client, kind, "old", "nginx:1", "nginx:2")
        yield running


def manifest(kind: str, name: str, image: str, **spec: object) -> dict[str, object]:
    container = {"name": "main", "image": image}
    replicas = {} if kind == "DaemonSet" else {"replicas": 2}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": name}},
        "spec": {
            **replicas,
            **({"serviceName": name} if kind == "StatefulSet" else {}),
            "selector": {"matchLabels": {"app": f"{name}-{kind.lower()}"}},
            "template": {
                "metadata": {"labels": {"app": f"{name}-{kind.lower()}"}},
                "spec": {"containers": [container]},
            },
            **spec,
        },
    }


def roll_out(server: Server, client: masthead.Client, kind: str, name: str, *images: str) -> None:
    for image in images:
        client.dynamic("apps/v1", kind, namespace="shop").apply(manifest(kind, name, image), field_manager="test")
        server.block_until_idle()


def image_of(client: masthead.Client, kind: str, name: str) -> str:
    obj = client.dynamic("apps/v1", kind, namespace="shop").get(name).to_dict()
    return str(obj["spec"]["template"]["spec"]["containers"][0]["image"])


@needs_current_kubectl
@pytest.mark.parametrize(
    "line",
    [
        "rollout status deploy/old -n shop",
        "rollout status deploy,ds,sts -n shop --watch=false",
        "rollout status deploy -l app=none -n shop",
        "rollout status deploy/old -n shop --revision=2",
        "rollout status deploy/old -n shop --revision=1",
        "rollout history deploy/old ds/old sts/old -n shop",
        "rollout history deploy/old ds/old sts/old -n shop -o name",
        "rollout history sts/old -n shop --revision=9",
        "rollout undo deploy/old ds/old sts/old -n shop --dry-run=server",
        "rollout undo deploy/old -n shop --to-revision=2",
        "rollout undo ds/old -n shop --to-revision=9",
        "rollout resume deploy/old -n shop",
    ],
)
def test_it_prints_what_kubectl_prints(line: str, cli: Cli, server: Server, tmp_path: Path) -> None:
    expected = Kubectl(server, tmp_path).run(line)
    ran = cli(line)

    assert (ran.out, ran.code) == (expected.stdout, expected.returncode)
    # The words of errors are kubectl's, too.
    assert all(error.removeprefix("error: ") in ran.err for error in expected.stderr.splitlines())


def without_nulls(value: Any) -> Any:
    """The same data without null, which older releases of kubectl print for missing times."""
    if isinstance(value, dict):
        return {key: without_nulls(field) for key, field in value.items() if field is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@needs_current_kubectl
@pytest.mark.parametrize("line", ["deploy/old --revision=2", "ds/old --revision=1", "sts/old --revision=1"])
def test_it_prints_the_objects_of_kubectl(line: str, cli: Cli, server: Server, tmp_path: Path) -> None:
    expected = Kubectl(server, tmp_path).json(f"rollout history -n shop {line}")

    printed = json.loads(cli(f"rollout history -n shop {line} -o json").out)
    # Of the status, kubectl keeps the fields that its release knows.
    assert {**printed, "status": None} == {**without_nulls(expected), "status": None}


@pytest.mark.parametrize("kind", KINDS)
def test_the_end_of_a_rollout_is_waited_for(kind: str, cli: Cli, server: Server, client: masthead.Client) -> None:
    client.dynamic("apps/v1", kind, namespace="shop").apply(manifest(kind, "new", "nginx:1"), field_manager="test")

    # The controllers work while the command waits.
    ran = cli(f"rollout status {KINDS[kind]}/new -n shop")

    assert ran.code == 0
    assert ran.out.splitlines()[-1] in {
        'deployment "new" successfully rolled out',
        'daemon set "new" successfully rolled out',
        "partitioned roll out complete: 2 new pods have been updated...",
    }
    # A line is repeated only when something else was said in between.
    assert all(line != following for line, following in pairwise(ran.out.splitlines()))
    server.block_until_idle()
    client.dynamic("apps/v1", kind, namespace="shop").delete("new")


def test_a_rollout_that_takes_too_long_has_an_exit_code(cli: Cli, server: Server, client: masthead.Client) -> None:
    template = {
        "metadata": {"labels": {"app": "stuck"}},
        # There is no such node, so that its pods stay pending.
        "spec": {"containers": [{"name": "main", "image": "nginx"}], "nodeSelector": {"no": "such"}},
    }
    stuck = manifest("Deployment", "stuck", "", selector={"matchLabels": {"app": "stuck"}}, template=template)
    client.dynamic("apps/v1", "Deployment", namespace="shop").apply(stuck, field_manager="test")
    server.block_until_idle()

    ran = cli("rollout status deploy/stuck -n shop --timeout=10ms")

    assert ran.code == 124
    assert ran.err == (
        "masthead rollout status: timed out waiting for deployment.apps/stuck after 0.01 s\n"
        "hint: wait longer with --timeout\n"
    )
    assert cli("rollout status deploy/stuck -n shop --watch=false").out == (
        'Waiting for deployment "stuck" rollout to finish: 0 of 2 updated replicas are available...\n'
    )
    client.apps_v1.deployments("shop").delete("stuck")


def test_a_rollout_that_exceeds_its_progress_deadline_fails(cli: Cli) -> None:
    late = {
        "observedGeneration": 1,
        "conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}],
    }
    # Without controllers, the status is that of the test.
    with (
        masthead.server.run() as other,
        masthead.Client(kubeconfig=other.kubeconfig()) as client,
    ):
        client.core_v1.namespaces().create(Namespace.new("shop"))
        resource = client.dynamic("apps/v1", "Deployment", namespace="shop")
        for name, status in (("late", late), ("none", {"observedGeneration": 1})):
            resource.apply(manifest("Deployment", name, "nginx", replicas=0), field_manager="test")
            resource.patch_status(name, Patch.merge({"status": status}))
        ran = cli(f"--server {other.url} --token {other.token} rollout status deploy/late deploy/none -n shop")

    assert (ran.code, ran.out) == (1, 'deployment "none" successfully rolled out\n')
    assert ran.err.splitlines() == [
        'masthead rollout status: deployment "late" exceeded its progress deadline',
        "hint: masthead describe deployment/late -n shop shows why",
    ]


def test_another_object_of_the_same_name_is_not_waited_for(server: Server, client: masthead.Client) -> None:
    roll_out(server, client, "Deployment", "brief", "nginx")
    resource = client.dynamic("apps/v1", "Deployment", namespace="shop")
    before = SelectedWorkload(client, resource.get("brief"), resource)
    resource.delete("brief")
    roll_out(server, client, "Deployment", "brief", "nginx")

    with pytest.raises(CommandError, match=r"deployment\.apps/brief: object has been deleted"):
        follow_rollout(before, 0, math.inf)
    resource.delete("brief")


def test_a_revision_is_shown(cli: Cli) -> None:
    shown = cli("rollout history ds/old -n shop --revision=1").out

    assert shown.startswith("daemonset.apps/old with revision #1\nPod template\n")
    assert "image: nginx:1\n" in shown


def test_the_cause_of_a_change_is_listed(cli: Cli, server: Server, client: masthead.Client) -> None:
    roll_out(server, client, "Deployment", "noted", "nginx:1")
    cli("annotate deploy/noted -n shop", "kubernetes.io/change-cause=a new image")
    roll_out(server, client, "Deployment", "noted", "nginx:2")

    assert cli("rollout history deploy/noted -n shop").out == (
        "deployment.apps/noted \nREVISION  CHANGE-CAUSE\n1         a new image\n2         a new image\n\n"
    )
    assert "kubernetes.io/change-cause=a new image" in cli("rollout history deploy/noted -n shop --revision=2").out
    client.apps_v1.deployments("shop").delete("noted")


@pytest.mark.parametrize("kind", KINDS)
def test_a_rollout_is_taken_back(kind: str, cli: Cli, server: Server, client: masthead.Client) -> None:
    roll_out(server, client, kind, "back", "nginx:1", "nginx:2", "nginx:3")
    name = f"{KINDS[kind]}/back -n shop"

    assert cli(f"rollout undo {name}").out == f"{kind.lower()}.apps/back rolled back\n"
    assert image_of(client, kind, "back") == "nginx:2"
    server.block_until_idle()
    assert cli(f"rollout undo {name} --to-revision=1 -o name").out == f"{kind.lower()}.apps/back\n"
    assert image_of(client, kind, "back") == "nginx:1"
    server.block_until_idle()
    # The revision of nginx:1 is the fifth now.
    assert (
        "skipped rollback (current template already matches revision 5)"
        in cli(f"rollout undo {name} --to-revision=5").out
    )
    client.dynamic("apps/v1", kind, namespace="shop").delete("back")


def test_taking_back_keeps_what_belongs_to_the_deployment(cli: Cli, server: Server, client: masthead.Client) -> None:
    roll_out(server, client, "Deployment", "kept", "nginx:1", "nginx:2")
    cli("annotate deploy/kept -n shop kubectl.kubernetes.io/last-applied-configuration={}")

    ran = cli("rollout undo deploy/kept -n shop")

    assert ran.err.startswith("warning: deployment.apps/kept is managed with kubectl apply")
    annotations = client.apps_v1.deployments("shop").get("kept").metadata.annotations
    assert annotations["kubectl.kubernetes.io/last-applied-configuration"] == "{}"
    template = client.apps_v1.deployments("shop").get("kept").spec.template
    assert template.metadata.labels == {"app": "kept-deployment"}
    client.apps_v1.deployments("shop").delete("kept")


def test_a_dry_run_changes_nothing(cli: Cli, client: masthead.Client) -> None:
    assert cli("rollout undo sts/old -n shop --dry-run").out == "statefulset.apps/old rolled back (server dry run)\n"
    assert image_of(client, "StatefulSet", "old") == "nginx:2"


def test_without_an_earlier_revision_nothing_is_taken_back(cli: Cli, server: Server, client: masthead.Client) -> None:
    roll_out(server, client, "Deployment", "first", "nginx")
    roll_out(server, client, "DaemonSet", "first", "nginx")

    ran = cli("rollout undo deploy/first ds/first -n shop")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines() == [
        'masthead rollout undo: no rollout history found for deployment "first"',
        "masthead rollout undo: no last revision to roll back to",
    ]
    client.apps_v1.deployments("shop").delete("first")
    client.apps_v1.daemon_sets("shop").delete("first")


def test_workloads_are_restarted(cli: Cli, server: Server, client: masthead.Client) -> None:
    roll_out(server, client, "Deployment", "again", "nginx")

    def restarted_at() -> str:
        template = client.apps_v1.deployments("shop").get("again").spec.template
        return template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]

    assert cli("rollout restart deploy -l app=again -n shop").out == "deployment.apps/again restarted\n"
    first = restarted_at()
    # kubectl refuses a second restart within a second.
    assert cli("rollout restart deploy/again -n shop").code == 0
    assert restarted_at() > first
    client.apps_v1.deployments("shop").delete("again")


def test_a_kind_alone_means_all_objects_of_the_namespace(cli: Cli, client: masthead.Client) -> None:
    client.core_v1.namespaces().create(Namespace.new("other"))
    for kind in ("DaemonSet", "StatefulSet"):
        obj = manifest(kind, "web", "nginx")
        obj["metadata"] = {"name": "web", "namespace": "other"}
        client.dynamic("apps/v1", kind, namespace="other").create(obj)

    ran = cli("rollout restart ds,sts -n other")

    assert ran.out == "daemonset.apps/web restarted\nstatefulset.apps/web restarted\n"


def test_a_deployment_is_paused_and_resumed(cli: Cli, server: Server, client: masthead.Client) -> None:
    roll_out(server, client, "Deployment", "held", "nginx:1", "nginx:2")
    name = "deploy/held -n shop"

    assert cli(f"rollout pause {name}").out == "deployment.apps/held paused\n"
    again = cli(f"rollout pause {name}")
    assert (again.code, again.err) == (1, 'masthead rollout pause: deployments.apps "held" is already paused\n')
    for command, problem in (
        ("restart", "can't restart paused deployment"),
        ("undo", "you cannot rollback a paused deployment"),
    ):
        refused = cli(f"rollout {command} {name}")
        assert refused.code == 1
        assert refused.err.splitlines() == [
            f"masthead rollout {command}: deployment.apps/held: {problem}",
            "hint: masthead rollout resume deployment/held -n shop resumes it",
        ]
    assert json.loads(cli(f"rollout resume {name} -o json").out)["spec"].get("paused") is None
    assert cli(f"rollout resume {name}").err == 'masthead rollout resume: deployments.apps "held" is not paused\n'
    client.apps_v1.deployments("shop").delete("held")


def test_manifests_name_workloads(cli: Cli, tmp_path: Path) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "kubernetes", "namespace": "default"}}
    path = tmp_path / "all.json"
    path.write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [service, manifest("StatefulSet", "old", "x")]})
    )

    ran = cli(f"rollout status -f {path}")

    # What has no rollout does not hide the others.
    assert (ran.code, ran.out) == (2, "partitioned roll out complete: 2 new pods have been updated...\n")
    assert ran.err.startswith('masthead rollout status: services "kubernetes" has no rollout\nhint: ')


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("rollout status", 2, "name objects, or manifests with -f"),
        ("rollout stats", 2, "did you mean status?"),
        ("rollout status deploy/old -l a=b -n shop", 2, "names exclude a selector"),
        ("rollout status -f x.yaml -l a=b", 2, "-l selects objects of a kind, not those of manifests"),
        ("rollout status deploy/old --revision=-1", 2, "Invalid value for '--revision'"),
        ("rollout status deploy/old --timeout=soon", 2, "'soon' is not a duration"),
        ("rollout status deploy/old --watch=maybe", 2, "'--watch' does not take a value"),
        ("rollout history deploy/old -o wide", 2, "-o wide is for tables"),
        ("rollout history deploy/old -o xml", 2, "-o has no form 'xml'"),
        ("rollout undo deploy/old --dry-run=client", 2, "--dry-run=client is not supported"),
        ("rollout undo deploy/old --to-revision=x", 2, "Invalid value for '--to-revision'"),
        ("rollout restart deploy/odl -n shop", 4, "did you mean old?"),
        ("rollout restart podz/web", 4, 'the server has no resource "podz"'),
        ("rollout restart deploy -n shp", 4, 'namespace "shp" does not exist'),
        ("rollout restart svc/kubernetes -n default", 2, 'services "kubernetes" restarting is not supported'),
        ("rollout pause ds/old -n shop", 2, 'daemonsets.apps "old" pausing is not supported'),
        ("rollout resume sts/old -n shop", 2, "masthead rollout resume is for Deployments"),
        ("-A rollout restart deploy", 2, "-A is not for this command"),
    ],
)
def test_wrong_arguments_are_refused(line: str, code: int, said: str, cli: Cli, client: masthead.Client) -> None:
    before = client.apps_v1.deployments("shop").get("old").metadata.resource_version
    ran = cli(line)

    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert client.apps_v1.deployments("shop").get("old").metadata.resource_version == before


def test_a_misspelt_name_leaves_the_others_alone(cli: Cli, client: masthead.Client) -> None:
    before = client.apps_v1.deployments("shop").get("old").metadata.generation

    assert cli("rollout restart deploy/old deploy/odl -n shop").code == 4
    assert client.apps_v1.deployments("shop").get("old").metadata.generation == before


def test_flags_take_a_value_as_those_of_kubectl(cli: Cli) -> None:
    for flag in ("-w=false", "--watch=false", "--watch=0", "--no-watch", "--watch=false --watch=true"):
        assert cli(f"rollout status deploy/old -n shop {flag}").code == 0
