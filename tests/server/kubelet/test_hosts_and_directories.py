"""The host names of pods and the working directories of containers, as their commands see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.kubelet.remote import pod
from tests.server.kubelet.running import (
    advance,
    condition,
    events,
    is_ready,
    main,
    run_pod,
    running_pods,
    shell,
    state_of,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.kubelet.remote import Plain, Remote


@pytest.fixture
async def automatic() -> AsyncIterator[Remote]:
    async with running_pods() as made:
        yield made


async def output(remote: Remote, script: str) -> str:
    """The output of a script in the container."""
    found = await remote.exec(*shell(script))
    assert found.code == 0, found.stderr
    return found.stdout


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({}, "web web web web"),
        ({"hostname": "db", "subdomain": "dbs"}, "db db db db.dbs.default.svc.cluster.local"),
        (
            {"subdomain": "dbs", "setHostnameAsFQDN": True},
            "web.dbs.default.svc.cluster.local web.dbs.default.svc.cluster.local web web.dbs.default.svc.cluster.local",
        ),
        ({"hostnameOverride": "some.name"}, "some.name some.name some some.name"),
        ({"hostNetwork": True, "hostname": "db"}, "masthead-node masthead-node masthead-node masthead-node"),
    ],
)
async def test_commands_see_the_host_name_of_the_spec(automatic: Remote, spec: Plain, names: str) -> None:
    script = "echo $HOSTNAME $(hostname) $(hostname -s) $(hostname -f)"
    await run_pod(automatic, spec=spec, command=shell(f"{script}; sleep 1000"))

    assert await automatic.log() == (200, f"{names}\n")
    assert await output(automatic, script) == f"{names}\n"


async def test_hostname_prints_domain_and_address_and_refuses_the_rest(automatic: Remote) -> None:
    found = await run_pod(automatic, spec={"subdomain": "dbs"}, command=shell("hostname -i; sleep 1000"))

    address = found["status"]["podIP"]
    assert await automatic.log() == (200, f"{address}\n")
    assert await output(automatic, "hostname -d; hostname -i") == f"dbs.default.svc.cluster.local\n{address}\n"
    assert (await automatic.exec("hostname", "-x")).stderr == "hostname: invalid option -- 'x'\n"
    refused = await automatic.exec("hostname", "db")
    assert (refused.code, refused.stderr) == (1, "hostname: sethostname: Operation not permitted\n")


async def test_a_variable_of_the_container_does_not_rename_its_host(automatic: Remote) -> None:
    await run_pod(automatic, env=[{"name": "HOSTNAME", "value": "other"}])

    assert await output(automatic, "echo $HOSTNAME; hostname") == "other\nweb\n"


async def test_a_pod_whose_qualified_name_is_too_long_does_not_start(automatic: Remote) -> None:
    body = {"subdomain": "b" * 60, "setHostnameAsFQDN": True, "initContainers": [{"name": "setup", "image": "x"}]}

    found = await run_pod(automatic, spec=body, command=shell("echo never"))

    assert (found["status"]["phase"], state_of(found)) == ("Pending", "PodInitializing")
    assert "message" not in main(found)["state"]["waiting"]
    fqdn = f"web.{'b' * 60}.default.svc.cluster.local"
    problem = (
        "Failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster domain, "
        f"FQDN {fqdn} is too long (64 characters is the max, {len(fqdn)} characters requested)"
    )
    assert ("FailedCreatePodSandBox", problem, 1) in await events(automatic)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"hostnameOverride": "a", "hostNetwork": True}, "Forbidden: may not be specified when hostNetwork is true"),
        (
            {"hostnameOverride": "a", "setHostnameAsFQDN": True},
            "Forbidden: may not be specified when setHostnameAsFQDN is true",
        ),
        ({"hostnameOverride": "a" * 65}, "Too long: may not be more than 64 bytes"),
    ],
)
async def test_an_override_of_the_host_name_is_validated(automatic: Remote, spec: Plain, message: str) -> None:
    async with automatic.http.post("/api/v1/namespaces/default/pods", json=pod("web", **spec)) as response:
        found = await response.json()

    assert (response.status, found["message"]) == (
        422,
        f'Pod "web" is invalid: spec.hostnameOverride: {message}',
    )


async def test_processes_start_in_the_working_directory(automatic: Remote) -> None:
    setup = {"name": "setup", "image": "x", "workingDir": "/setup", "command": shell("pwd > where; cat where")}
    spec = {"initContainers": [setup]}
    await run_pod(automatic, spec=spec, workingDir="/srv//app/.", command=shell("pwd; echo > here; sleep 1000"))

    assert await automatic.log() == (200, "/srv/app\n")
    assert await automatic.log(container="setup") == (200, "/setup\n")
    assert await output(automatic, "pwd; ls; cd ..; pwd") == "/srv/app\nhere\n/srv\n"
    assert (await automatic.exec("pwd")).stdout == "/srv/app\n"


async def test_probes_and_hooks_start_in_the_working_directory(automatic: Remote) -> None:
    found = await run_pod(
        automatic,
        workingDir="/srv/app",
        lifecycle={"postStart": {"exec": {"command": shell("touch ready; pwd > /tmp/where")}}},
        readinessProbe={"exec": {"command": ["test", "-e", "ready"]}},
    )

    assert is_ready(await advance(automatic, 10)), found
    assert automatic.server.kubelet.files("web")["/tmp/where"] == b"/srv/app\n"


async def test_a_container_without_a_process_has_its_working_directory(automatic: Remote) -> None:
    await run_pod(automatic, image="nginx", workingDir="/srv/app")

    assert await output(automatic, "pwd; [ -d /srv/app ] && echo there") == "/srv/app\nthere\n"


async def test_a_working_directory_within_a_volume_is_created_there(automatic: Remote) -> None:
    spec = {"volumes": [{"name": "data", "emptyDir": {}}]}
    mounts = [{"name": "data", "mountPath": "/data"}]
    other = {"name": "other", "image": "x", "volumeMounts": [{"name": "data", "mountPath": "/shared"}]}
    body = pod("web", **spec)
    body["spec"]["containers"][0].update(
        workingDir="/data/app", volumeMounts=mounts, command=shell("echo hi > f; sleep 1000")
    )
    body["spec"]["containers"].append(other)
    await automatic.create(body, start=False)
    await automatic.server.wait_for_idle()

    assert automatic.server.kubelet.files("web", container="other")["/shared/app/f"] == b"hi\n"


@pytest.mark.parametrize(
    ("path", "command", "problem"),
    [
        ("/config/sub", shell("echo never"), "mkdir /config/sub: read-only file system"),
        ("/config/sub", [], "mkdir /config/sub: read-only file system"),
        ("/config/name", shell("echo never"), "mkdir /config/name: not a directory"),
        ("app", shell("echo never"), "Cwd must be an absolute path"),
    ],
)
async def test_a_container_does_not_start_in_an_impossible_directory(
    automatic: Remote, path: str, command: list[str], problem: str
) -> None:
    sources = [{"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}}]
    spec = {"restartPolicy": "Never", "volumes": [{"name": "config", "projected": {"sources": sources}}]}
    found = await run_pod(
        automatic,
        spec=spec,
        workingDir=path,
        command=command,
        volumeMounts=[{"name": "config", "mountPath": "/config"}],
        lifecycle={"postStart": {"exec": {"command": shell("echo never")}}},
    )

    ended = main(found)["state"]["terminated"]
    assert (found["status"]["phase"], ended["exitCode"], ended["reason"]) == ("Failed", 128, "StartError")
    assert ended["message"].endswith(f"error during container init: {problem}: unknown")
    assert ("Failed", f"Error: {ended['message']}", 1) in await events(automatic)
    assert await automatic.log() == (200, "")


async def test_a_working_directory_may_be_a_read_only_volume(automatic: Remote) -> None:
    sources = [{"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}}]
    await run_pod(
        automatic,
        spec={"volumes": [{"name": "config", "projected": {"sources": sources}}]},
        workingDir="/config",
        command=shell("cat name; sleep 1000"),
        volumeMounts=[{"name": "config", "mountPath": "/config"}],
    )

    assert await automatic.log() == (200, "web")


async def test_a_failed_start_is_repeated_with_backoff(automatic: Remote) -> None:
    found = await run_pod(automatic, workingDir="app", command=shell("echo never"))

    assert state_of(found) == "CrashLoopBackOff"
    assert main(found)["lastState"]["terminated"]["reason"] == "StartError"
    assert condition(found, "Ready")["status"] == "False"


async def test_a_command_fails_once_the_working_directory_was_removed(automatic: Remote) -> None:
    await run_pod(automatic, workingDir="/srv/app")
    await output(automatic, "cd /; rm -r /srv")

    found = await automatic.exec("pwd")

    assert found.status["message"].endswith(
        'chdir to cwd ("/srv/app") set in config.json failed: no such file or directory: unknown'
    )
