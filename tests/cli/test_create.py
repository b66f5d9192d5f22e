"""``masthead create``: the objects that kubectl's commands make, byte for byte, and how they are created."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran
    from tests.server.kubectl import Kubectl

    import masthead

    Cli = Callable[..., Ran]

GENERATED = [
    "namespace x",
    "ns x -n other",
    "configmap x",
    "cm x --from-literal=a=b --from-literal=b==c=",
    "cm x --from-literal=a= --from-literal=b=<&>",
    "cm x --from-file={files}",
    "cm x --from-file={files}/plain.txt,{files}/binary --from-file=key={files}/plain.txt -n shop",
    "cm x --from-env-file={files}/app.env",
    "cm x --append-hash",
    "cm x --append-hash --from-literal=a=b --from-file={files}",
    "cm x --save-config --from-literal=a=<b> -n shop",
    "secret generic x",
    "secret generic x --from-literal=a=b --type=Opaque",
    "secret generic x --from-file={files} --append-hash",
    "secret generic x --from-env-file={files}/app.env --append-hash --type=Opaque",
    "secret docker-registry x --docker-username=me --docker-password=s&cret",
    "secret docker-registry x --docker-server=example.com --docker-username=me --docker-password=s --docker-email=a@b",
    "secret docker-registry x --from-file={files}/plain.txt --append-hash",
    "serviceaccount x",
    "sa x -n shop --save-config",
    "deployment x --image=nginx",
    "deploy x --image=example.com:5000/shop/web:1@sha256:00 --image=b,c --replicas=3 --port=80 -n shop",
    "deploy x --image=nginx -r 0 --port=0 -- sh -c 'sleep 1' --now",
    "deploy x --image=nginx --save-config",
    "job x --image=busybox",
    "job x --image=busybox -n shop -- date -u",
    "cronjob x --image=busybox --schedule='*/5 * * * *'",
    "cj x --image=busybox --schedule=@daily --restart=Never -n shop -- date",
    "service clusterip x --tcp=80",
    "svc clusterip x --tcp=80:8080,443:https --tcp=53 -n shop",
    "service clusterip x --clusterip=None",
    "service clusterip x --clusterip=10.0.0.7 --tcp=80:0080",
    "service nodeport x --tcp=80:8080 --node-port=30080",
    "service loadbalancer x --tcp=80",
    "service externalname x --external-name=example.com",
    "service externalname x --external-name=example.com --tcp=5:6",
    "ingress x --rule=/=web:80",
    "ing x --rule=a.example.com/*=web:80,tls --rule=a.example.com/b=web:http --rule=b/=c:1,tls=s --rule=c/=c:1,tls=s",
    "ingress x --class=nginx --default-backend=web:http --annotation=b=c=d --annotation=a= -n shop",
    "ingress x --rule=/a*=web:80,tls=s --rule=/b=web:0080 --rule=*.example.com/b=web:00",
    "role x --verb=get,list --verb=get --resource=pods,rs.apps,deploy,pod/log,pods --resource-name=a --resource-name=a",
    "role x --verb=* --resource=* -n shop",
    "role x --verb=get,* --resource=configmap,widgets,ing",
    "role x --verb=impersonate --resource=users,groups",
    "role x --verb=get --resource=*.apps",
    "clusterrole x --verb=get --resource=nodes,pods/status",
    "clusterrole x --verb=get --non-resource-url=/a,/b* --non-resource-url=/a",
    "clusterrole x --verb=get --non-resource-url=/a --resource=pods",
    "clusterrole x --aggregation-rule=b=c,a=b",
    "rolebinding x --role=r --user=a --user=b --group=c --serviceaccount=d:e",
    "rolebinding x --clusterrole=r -n shop",
    "clusterrolebinding x --clusterrole=r --serviceaccount=d:e --group=g",
    "quota x",
    "quota x --hard=cpu=1000m,memory=1024Mi,pods=10 --scopes=BestEffort,NotTerminating",
    "resourcequota x --hard=requests.cpu=0.5,limits.memory=1.5Gi -n shop",
    "pdb x --selector=app=web --min-available=1",
    "poddisruptionbudget x --selector='app in (b,a),!c,d,e=f' --max-unavailable=50%",
    "pc x",
    "priorityclass x --value=-5 --global-default --description='a b' --preemption-policy=Never",
    "priorityclass x --value=7 --global-default=false",
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with files of each kind."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "plain.txt").write_text("first\n  second <&>\n", "utf-8")
    (folder / "binary").write_bytes(b"\xff\x00\x01")
    (folder / "app.env").write_text("\ufeff# colours\nCOLOR=red\n\n  SIZE=1 # large\nMASTHEAD_UNSET\n", "utf-8")
    (folder / "link").symlink_to(folder / "plain.txt")
    (folder / "below").mkdir()
    return folder


def words_of(line: str, files: Path) -> list[str]:
    return shlex.split(line.format(files=files))


@pytest.mark.parametrize("line", GENERATED)
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_the_object_is_that_of_kubectl(line: str, form: str, files: Path, cli: Cli, kubectl: Kubectl) -> None:
    options = ["--dry-run=client", "-o", form]
    head, dashes, tail = line.partition(" -- ")
    words = [*words_of(head, files), *options, *(["--", *words_of(tail, files)] if dashes else [])]
    theirs = subprocess.run([*kubectl.command, "create", *words], capture_output=True, text=True, check=True).stdout

    assert cli("create", *words).out == theirs


def test_without_a_cluster_objects_are_printed(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))

    for line in ("role x --verb=get --resource=deploy", "sa x", "job x --image=a", "secret generic x"):
        assert cli(f"create {line} --dry-run=client -o name").out.endswith("/x\n")
    (tmp_path / "x.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {name: x}}", "utf-8")
    assert cli(f"create -f {tmp_path}/x.yaml --dry-run=client").out == "namespace/x created (dry run)\n"
    assert cli("create sa x").code == 3


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("configmap", "configmap/made created"),
        ("secret generic", "secret/made created"),
        ("serviceaccount", "serviceaccount/made created"),
        ("deployment --image=nginx", "deployment.apps/made created"),
        ("job --image=nginx", "job.batch/made created"),
        ("cronjob --image=nginx --schedule=@daily", "cronjob.batch/made created"),
        ("service clusterip --tcp=80", "service/made created"),
        ("ingress --rule=/=web:80", "ingress.networking.k8s.io/made created"),
        ("role --verb=get --resource=pods", "role.rbac.authorization.k8s.io/made created"),
        ("rolebinding --role=r --user=u", "rolebinding.rbac.authorization.k8s.io/made created"),
        ("quota --hard=pods=3", "resourcequota/made created"),
        ("pdb --selector=a=b --min-available=1", "poddisruptionbudget.policy/made created"),
    ],
)
def test_the_object_is_created(line: str, said: str, cli: Cli) -> None:
    tried = cli(f"create {line} made -n shop --dry-run=server")
    made = cli(f"create {line} made -n shop")
    again = cli(f"create {line} made -n shop")

    assert (tried.code, tried.out) == (0, f"{said} (server dry run)\n")
    assert (made.code, made.out) == (0, f"{said}\n")
    assert (again.code, again.out) == (1, "")
    assert "already exists (409 AlreadyExists)" in again.err
    assert cli(f"delete {said.split(maxsplit=1)[0]} -n shop").code == 0


def test_the_manager_and_the_configuration_are_recorded(cli: Cli, client: masthead.Client) -> None:
    assert cli("create cm saved -n shop --from-literal=a=b --save-config --field-manager=me").code == 0

    saved = client.core_v1.config_maps("shop").get("saved")
    (text,) = saved.metadata.annotations.values()
    assert json.loads(text) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "saved", "namespace": "shop"},
        "data": {"a": "b"},
    }
    assert saved.metadata.managed_fields[0].manager == "me"
    client.core_v1.config_maps("shop").delete("saved")


def test_options_may_stand_before_the_commands(cli: Cli) -> None:
    ran = cli("create --dry-run=client -n shop secret -o name generic --type Opaque x")

    assert (ran.code, ran.out) == (0, "secret/x\n")


def test_a_job_is_made_of_a_cron_job(cli: Cli, client: masthead.Client) -> None:
    assert cli("create cronjob nightly -n shop --image=busybox --schedule=@daily -- date").code == 0

    printed = cli("create job now -n shop --from=cronjob/nightly --dry-run=client -o json")
    assert cli("create job now -n shop --from=cj/nightly").out == "job.batch/now created\n"

    made = client.batch_v1.jobs("shop").get("now")
    assert made.spec.template.spec.containers[0].command == ["date"]
    assert made.metadata.owner_references[0].name == "nightly"
    assert made.metadata.annotations == {"cronjob.kubernetes.io/instantiate": "manual"}
    assert json.loads(printed.out)["metadata"]["ownerReferences"][0]["controller"] is True
    assert cli("create job now -n shop --from=cronjob/nighty").code == 4
    client.batch_v1.jobs("shop").delete("now")
    client.batch_v1.cron_jobs("shop").delete("nightly")


def test_a_token_is_printed_without_a_line_feed(cli: Cli, client: masthead.Client) -> None:
    assert cli("create sa robot -n shop").code == cli("create secret generic bound -n shop").code == 0

    ran = cli("create token robot -n shop --duration=20m --audience=me")
    whole = cli("create token robot -n shop -o json --bound-object-kind=Secret --bound-object-name=bound")

    assert (ran.code, ran.err, ran.out.count("."), ran.out.strip()) == (0, "", 2, ran.out)
    assert whole.err == ""
    assert json.loads(whole.out)["spec"]["boundObjectRef"]["name"] == "bound"
    assert cli("create token nobody -n shop").code == 4
    client.core_v1.service_accounts("shop").delete("robot")
    client.core_v1.secrets("shop").delete("bound")


def test_the_other_objects_of_manifests_are_created(cli: Cli, client: masthead.Client, tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, labels: {a: b}}}\n---\n"
        "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: made-, labels: {a: b}}, data: {x: '1'}}\n---\n"
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}\n",
        "utf-8",
    )
    ran = cli(f"create -f {tmp_path}/all.yaml -n shop -l a=b -o name")

    assert ran.code == 1
    assert ran.err.splitlines()[0] == 'masthead create: configmaps "settings" already exists (409 AlreadyExists)'
    assert ran.out.startswith("configmap/made-")
    client.core_v1.config_maps("shop").delete(ran.out.strip().partition("/")[2])


def test_manifests_are_printed_as_kubectl_does(cli: Cli, kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1', 'why': 'yes'}}\n---\n"
        "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {size: 3, deep: [[1, [2]], {a: []}]}}\n"
        "---\n{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {a: b}}, spec: {}}\n",
        "utf-8",
    )
    line = f"create -f {tmp_path}/all.yaml --dry-run=client"

    assert cli(f"{line} -o yaml").out == kubectl(f"{line} -o yaml")
    assert cli(line).out == kubectl(line)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-f missing.yaml", "missing.yaml does not exist"),
        ("-l a=b", "name manifests with -f"),
        ("pod x", "there is no command 'pod'"),
        ("configmap", "Missing argument 'NAME'"),
        ("configmap a b", "unexpected extra argument"),
        ("configmap x --from-literal=a", "--from-literal: 'a' is not KEY=VALUE"),
        ("configmap x --from-literal=a=b --from-literal=a=c", "there are two values for the key 'a'"),
        ("configmap x --from-literal=a/b=c", "'a/b' is no key"),
        ("configmap x --from-literal=..a=c", "it would lead out of its folder"),
        ("configmap x --from-file=missing", "--from-file: missing cannot be read"),
        ("configmap x --from-file=k={files}", "is a folder"),
        ("configmap x --from-file==x", "neither FILE nor KEY=FILE"),
        ("configmap x --from-env-file={files}/binary", "is not text in UTF-8"),
        ("configmap x --from-env-file={files}/plain.txt", "is not the name of a variable"),
        ("configmap x --from-env-file=a --from-literal=b=c", "--from-env-file excludes"),
        ("secret x", "there is no command 'x'"),
        ("secret docker-registry x", "name a file with --from-file"),
        ("secret tls x --cert={files}/plain.txt --key={files}/plain.txt", "no certificate and its private key"),
        ("secret tls x --cert={files}/plain.txt", "Missing option '--key'"),
        ("deployment x", "Missing option '--image'"),
        ("deployment x --image=a date", "unexpected extra argument"),
        ("deployment x --image=a,b -- date", "a command needs a single --image"),
        ("job x", "name --image or --from"),
        ("job x --image=a --from=cronjob/b", "name --image or --from"),
        ("job x --from=cronjob/b -- date", "--from excludes a command"),
        ("job x --from=cronjob", "is not cronjob/NAME"),
        ("cronjob x --image=a", "Missing option '--schedule'"),
        ("service clusterip x", "name a port with --tcp"),
        ("service clusterip x --tcp=70000", "'70000' is no port"),
        ("service clusterip x --tcp=80:a_b", "neither a port nor the name of one"),
        ("service externalname x --external-name=a_b", "--external-name"),
        ("ingress x", "name a --rule"),
        ("ingress x --rule=a", "--rule: 'a' is not"),
        ("ingress x --rule=/=a:b --annotation=c", "--annotation: 'c' is not"),
        ("ingress x --default-backend=a", "'a' is not SERVICE:PORT"),
        ("role x --resource=pods", "name a --verb"),
        ("role x --verb=get", "name a --resource"),
        ("role x --verb=get --resource=.apps", "has no name"),
        ("role x --verb=bind --resource=pods --dry-run=client", "the verb 'bind' is not for pods"),
        ("clusterrole x --verb=get", "name a --resource or a --non-resource-url"),
        ("clusterrole x --verb=list --non-resource-url=/a", "there is no verb 'list'"),
        ("clusterrole x --verb=get --non-resource-url=a", "does not begin with /"),
        ("clusterrole x --verb=get --non-resource-url=/*/a", "has a * before its end"),
        ("clusterrole x --verb=get --aggregation-rule=a=b", "--aggregation-rule excludes rules"),
        ("rolebinding x", "name --role or --clusterrole"),
        ("rolebinding x --role=a --serviceaccount=b", "'b' is not NAMESPACE:NAME"),
        ("clusterrolebinding x", "Missing option '--clusterrole'"),
        ("quota x --hard=cpu", "'cpu' is not RESOURCE=QUANTITY"),
        ("quota x --hard=cpu=many", "--hard: "),
        ("quota x --scopes=a,,b", "has an empty scope"),
        ("pdb x --min-available=1", "name the pods with --selector"),
        ("pdb x --selector=a=b", "name --min-available or --max-unavailable"),
        ("pdb x --selector=a=b --min-available=1Gi", "neither a number nor a percentage"),
        ("pdb x --selector=a>1 --min-available=1", "has no operator"),
        ("token x --duration=1.5s", "whole seconds"),
        ("token x --bound-object-name=a", "need --bound-object-kind"),
        ("token x --bound-object-kind=Pod", "needs --bound-object-name"),
        ("sa x --dry-run=maybe", "Invalid value for '--dry-run'"),
        ("sa x --validate=maybe", "Invalid value for '--validate'"),
        ("sa x -o wide", "-o wide is for tables"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_sent(line: str, said: str, cli: Cli, files: Path) -> None:
    ran = cli("create", *words_of(line, files))

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_what_the_server_lacks_is_not_found(cli: Cli) -> None:
    assert cli("create role x --verb=get --resource=nothing -n shop").code == 4
    missing = cli("create sa x -n shopp")
    assert missing.code == 4
    assert 'namespace "shopp" does not exist' in missing.err


def test_a_verb_of_an_extension_is_allowed_with_a_warning(cli: Cli) -> None:
    ran = cli("create role x --verb=fly --resource=pods --dry-run=client -o name")

    assert ran.out == "role.rbac.authorization.k8s.io/x\n"
    assert ran.err == "Warning: 'fly' is not a standard resource verb\n"


def test_only_the_server_can_try_out_an_apply(cli: Cli) -> None:
    assert "--dry-run=client is not supported" in cli("apply -f . --dry-run=client").err
