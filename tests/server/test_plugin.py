"""The pytest plugin: tests that only name a fixture get a server."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

CALL = """
import json
import urllib.request

def call(server, path, method="GET", body=None):
    request = urllib.request.Request(
        server.url + path, method=method, data=body and json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"},
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        return json.load(answer)
"""


@pytest.fixture(autouse=True)
def _settings(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")


def passes(pytester: pytest.Pytester, code: str, count: int) -> None:
    pytester.makepyfile(CALL + code)
    pytester.runpytest_inprocess("-p", "no:cacheprovider", "--strict-markers").assert_outcomes(passed=count)


def test_each_test_gets_a_fresh_server(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
import pytest

@pytest.mark.parametrize("time", [1, 2])
def test_it(kube_server, time):
    path = "/api/v1/namespaces/default/secrets"
    assert call(kube_server, path)["items"] == []
    call(kube_server, path, "POST", {"metadata": {"name": "a"}})
    kube_server.block_until_idle()
    assert len(call(kube_server, path)["items"]) == 1
""",
        2,
    )


def test_marks_configure_the_server_and_the_nearest_wins(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
import pytest
from masthead.server import VirtualClock

pytestmark = pytest.mark.kube_server(token="of the module", clock=VirtualClock)

def test_module(kube_server):
    assert kube_server.token == "of the module"
    kube_server.advance(5)

@pytest.mark.kube_server(token="of the class")
class TestClass:
    def test_class(self, kube_server):
        assert kube_server.token == "of the class"

    @pytest.mark.kube_server(token="of the test")
    def test_test(self, kube_server):
        assert kube_server.token == "of the test"
        kube_server.advance(5)
""",
        3,
    )


def test_a_mark_that_names_a_class_of_clock_gives_each_server_one_of_its_own(
    pytester: pytest.Pytester,
) -> None:
    passes(
        pytester,
        """
import pytest
from masthead.server import VirtualClock

@pytest.mark.kube_server(clock=VirtualClock)
@pytest.mark.parametrize("time", [1, 2])
def test_it(kube_server, time):
    path = "/api/v1/namespaces/default"
    assert call(kube_server, path)["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    kube_server.advance(3600)
""",
        2,
    )


def test_a_mark_without_keywords_is_explained(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
import pytest

@pytest.mark.kube_server("token")
def test_it(kube_server):
    pass
""")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*accepts keyword arguments only*"])


def test_the_options_fixture_can_be_overridden(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
import pytest

@pytest.fixture
def kube_server_options():
    return {"token": "mine"}

def test_it(kube_server):
    assert kube_server.token == "mine"
""",
        1,
    )


def test_a_shared_server_is_one_and_namespaces_keep_tests_apart(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
import pytest

seen = set()

@pytest.mark.parametrize("what", ["a/b", "A_B", "x" * 200, "äöü"])
def test_it(shared_kube_server, kube_namespace, what):
    seen.add((shared_kube_server.url, kube_namespace))
    found = call(shared_kube_server, f"/api/v1/namespaces/{kube_namespace}")
    assert found["status"]["phase"] == "Active"
    assert len(kube_namespace) <= 63

def test_afterwards(shared_kube_server):
    assert len({url for url, _ in seen}) == 1
    assert len({name for _, name in seen}) == 4
    shared_kube_server.block_until_idle()
    there = {each["metadata"]["name"] for each in call(shared_kube_server, "/api/v1/namespaces")["items"]}
    assert not there & {name for _, name in seen}
""",
        5,
    )


def test_a_fault_that_a_test_left_in_the_shared_server_harms_no_other(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
import pytest

@pytest.mark.parametrize("time", [1, 2])
def test_with_a_namespace(shared_kube_server, kube_namespace, time):
    assert not list(shared_kube_server.faults)
    shared_kube_server.faults.fail(503, times=None)

def test_without(shared_kube_server):
    assert not list(shared_kube_server.faults)
    shared_kube_server.faults.fail(503, times=None)

def test_with_a_namespace_again(shared_kube_server, kube_namespace):
    assert call(shared_kube_server, f"/api/v1/namespaces/{kube_namespace}")["status"]["phase"] == "Active"
""",
        4,
    )


def test_a_test_may_delete_its_namespace_itself(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
def test_it(shared_kube_server, kube_namespace):
    call(shared_kube_server, f"/api/v1/namespaces/{kube_namespace}", "DELETE")
    shared_kube_server.block_until_idle()
""",
        1,
    )


@pytest.mark.slow
def test_a_kubeconfig_leads_to_the_server(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
import yaml

def test_it(kube_server, kubeconfig_file):
    found = yaml.safe_load(kubeconfig_file.read_text())
    assert found["clusters"][0]["cluster"]["server"].endswith(kube_server.url.partition("://")[2])
    assert found["users"][0]["user"]["token"] == kube_server.token
""")
    # In a process of its own: PyYAML's C part does not live through being imported twice.
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_async_tests_wait_for_the_same_server(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
import asyncio

import pytest

@pytest.mark.asyncio
async def test_it(kube_server):
    await asyncio.to_thread(call, kube_server, "/api/v1/namespaces")
    await kube_server.wait_for_idle()
    assert [each.info.verb for each in kube_server.requests] == ["list"]
""",
        1,
    )


AWAITED = """
import pytest

@pytest.fixture
def maps(kube_aio_client):
    return kube_aio_client.core_v1.secrets("default")

@MARK
async def test_awaited(kube_server, maps, kube_aio_client):
    await maps.create({"metadata": {"name": "a"}})
    assert [each.metadata.name for each in await maps.list()] == ["a"]
    assert [each.info.verb for each in kube_server.requests] == ["create", "list"]
    closed.append(kube_aio_client)

@MARK
async def test_each_has_a_client_of_its_own(maps):
    assert len(await maps.list()) == 0
    with pytest.raises(ClosedError):
        await closed[0].core_v1.secrets("default").list()
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["strict", "auto", "anyio", "anyio beside strict"])
def test_the_async_client_fixture_works_with_every_async_plugin(pytester: pytest.Pytester, mode: str) -> None:
    marks = {"strict": "@pytest.mark.asyncio\n", "auto": ""}
    if "anyio" in mode:
        pytest.importorskip("anyio")
        pytester.makeconftest("import pytest\n\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n")
    if mode == "anyio":
        pytester.makeini("[pytest]")
    head = "from masthead.errors import ClosedError\n\nclosed = []\n"
    pytester.makepyfile(head + AWAITED.replace("@MARK\n", marks.get(mode, "@pytest.mark.anyio\n")))
    options = {"auto": ["--asyncio-mode=auto"], "anyio": ["-p", "no:asyncio"]}.get(mode, [])

    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "error", *options)

    done.assert_outcomes(passed=2)


@pytest.mark.slow
def test_the_async_client_fixture_without_an_async_plugin_is_rejected(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(kube_aio_client):\n    pass\n")

    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:asyncio")

    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*kube_aio_client is for async tests: install pytest-asyncio, or mark*"])


@pytest.mark.slow
def test_objects_that_differ_are_shown_where_they_do_unless_they_are_secrets(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("""
from masthead.api.core.v1 import ConfigMap, Secret

def test_differ():
    assert ConfigMap.new("a", data={"colour": "red", "x": "y"}) == ConfigMap.new("a", data={"colour": "blue"})

def test_secrets():
    assert Secret.new("a", string_data={"b": "hunter2"}) == Secret.new("a", string_data={"b": "hunter3"})
""")

    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--tb=line", "-rf", "-vv")

    done.assert_outcomes(failed=2)
    shown = done.stdout.str()
    assert "ConfigMap('a') == ConfigMap('a')" in shown
    assert "colour: red" in shown
    assert "colour: blue" in shown
    assert "b: hunter" not in shown


def test_fixtures_and_the_mark_are_documented(pytester: pytest.Pytester) -> None:
    fixtures = pytester.runpytest_inprocess("--fixtures").stdout.str()
    marks = pytester.runpytest_inprocess("--markers").stdout.str()

    for name in (
        "kube_server",
        "kube_server_options",
        "kube_aio_client",
        "shared_kube_server",
        "kube_namespace",
        "kubeconfig_file",
    ):
        assert f"\n{name} " in fixtures or f"\n{name} [" in fixtures
    assert "@pytest.mark.kube_server(**options): start kube_server with" in marks


def test_there_are_client_fixtures_for_both_servers(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
import masthead.aio

def test_own(kube_client, kube_server):
    made = kube_client.core_v1.secrets("default").create({"metadata": {"name": "a"}})
    assert made.metadata.resource_version == str(kube_server.revision)

def test_fresh(kube_client):
    assert len(kube_client.core_v1.secrets("default").list()) == 0

def test_shared(shared_kube_client, kube_namespace):
    shared_kube_client.core_v1.config_maps(kube_namespace).create({"metadata": {"name": "a"}})
    assert shared_kube_client.core_v1.namespaces().get(kube_namespace)

async def awaited(config):
    async with masthead.aio.Client(config) as client:
        return await client.core_v1.namespaces().get("default")

def test_awaited(kube_config):
    import asyncio
    assert asyncio.run(awaited(kube_config)).metadata.name == "default"
""",
        4,
    )


def test_a_client_acts_as_a_service_account_or_any_user(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
import masthead
import pytest
from masthead.api.authentication.v1 import SelfSubjectReview

ACCOUNT = "system:serviceaccount:default:robot"
ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r", "namespace": "default"},
    "rules": [{"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"]}],
}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
    "metadata": {"name": "r", "namespace": "default"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
    "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}],
}

def test_a_role(kube_client, kube_client_as):
    kube_client.apply_manifests([ROLE, BINDING], field_manager="test")
    robot = kube_client_as(ACCOUNT)
    assert robot.core_v1.config_maps("default").list().items
    with pytest.raises(masthead.ForbiddenError, match="cannot list resource .secrets"):
        robot.core_v1.secrets("default").list()
    with pytest.raises(masthead.ForbiddenError):
        kube_client_as("system:serviceaccount:default:other").core_v1.config_maps("default").list()

def test_groups(kube_client_as):
    kube_client_as("jane", groups=["system:masters"]).core_v1.secrets("default").list()
    with pytest.raises(masthead.ForbiddenError):
        kube_client_as("jane", groups=["developers"]).core_v1.secrets("default").list()

@pytest.mark.kube_server(authorization="always-allow")
def test_a_mark_wins(kube_client_as):
    kube_client_as("jane").core_v1.secrets("default").list()

def test_without_the_fixture_everything_is_allowed(kube_client, kube_server_options):
    assert kube_server_options == {}

@pytest.mark.anyio
async def test_anyio(kube_aio_client_as, anyio_backend):
    with pytest.raises(masthead.ForbiddenError):
        await kube_aio_client_as("jane").core_v1.secrets("default").list()

@pytest.mark.asyncio
async def test_asyncio(kube_aio_client_as):
    with pytest.raises(masthead.ForbiddenError):
        await kube_aio_client_as(ACCOUNT, groups=["x"]).core_v1.secrets("default").list()

@pytest.fixture
def anyio_backend():
    return "asyncio"
""",
        6,
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("ports=1", "kube_server has no option 'ports'; the nearest is 'port'; masthead.server.run has host, port"),
        ("port='x'", "ConfigError: port must be a whole number, not 'x'"),
    ],
)
def test_a_mark_with_an_invalid_option_is_explained(pytester: pytest.Pytester, options: str, problem: str) -> None:
    pytester.makepyfile(f"""
import pytest

@pytest.mark.kube_server({options})
def test_it(kube_server):
    pass
""")

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--strict-markers")

    result.assert_outcomes(errors=1)
    assert problem in result.stdout.str()


def test_the_kubeconfig_of_a_test_with_the_shared_server_leads_there(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
import os
import pathlib

import pytest

def leads_to(kubeconfig, server):
    return server.url.rpartition(":")[2] + "\\n" in pathlib.Path(kubeconfig).read_text()

def test_shared(kubeconfig, kube_environ, shared_kube_server):
    assert leads_to(kubeconfig, shared_kube_server)
    assert leads_to(os.environ["KUBECONFIG"], shared_kube_server)

def test_namespace(kubeconfig, kube_namespace, shared_kube_server):
    assert leads_to(kubeconfig, shared_kube_server)

@pytest.mark.usefixtures("shared_kube_server")
def test_by_mark(kubeconfig_file, request):
    assert leads_to(kubeconfig_file, request.getfixturevalue("shared_kube_server"))

@pytest.mark.kube_server(bootstrap=False)
def test_both(kubeconfig, shared_kube_server, kube_server):
    assert leads_to(kubeconfig, kube_server)

@pytest.mark.kube_server(bootstrap=False)
def test_both_by_a_client(kubeconfig, shared_kube_server, kube_client, request):
    assert leads_to(kubeconfig, request.getfixturevalue("kube_server"))

@pytest.mark.kube_server(token="mine")
def test_own(kubeconfig):
    assert "mine" in kubeconfig.read_text()
""",
        6,
    )


def test_a_mark_without_an_effect_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
import unittest

import pytest

@pytest.mark.kube_server(kubelet=True)
def test_shared(shared_kube_server, kubeconfig):
    pass

@pytest.mark.kube_server(kubelet=True)
def test_namespace(kube_namespace):
    pass

@pytest.mark.kube_server(kubelet=True)
def test_no_server(tmp_path):
    pass

@pytest.mark.kube_server(bootstrap=False)
def test_asked_for_later(request):
    request.getfixturevalue("kube_server")

@pytest.mark.kube_server(kubelet=True)
class TestClass:
    def test_without_a_server(self):
        pass

    def test_of_a_class(self, shared_kube_server):
        pass
"""
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--strict-markers")

    result.assert_outcomes(passed=3, failed=1, errors=2)
    result.stdout.fnmatch_lines_random(
        [
            "the mark kube_server of test_shared has no effect on shared_kube_server, which all tests share. Leave*",
            "the mark kube_server of test_namespace has no effect on shared_kube_server*",
            "the mark kube_server of test_no_server has no effect: no fixture of the test starts kube_server. Use it*",
        ]
    )


def test_a_mark_is_read_by_a_fixture_of_the_project(pytester: pytest.Pytester) -> None:
    passes(
        pytester,
        """
import masthead.server
import pytest

@pytest.fixture
def kube_server(request):
    with masthead.server.run(**request.node.get_closest_marker("kube_server").kwargs) as server:
        yield server

@pytest.mark.kube_server(token="mine", bootstrap=False)
def test_it(kube_server):
    assert kube_server.token == "mine"
""",
        1,
    )
