"""The built-in admission plugins: which run, and what changes when one is switched off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import masthead.server
from masthead import Client
from masthead.errors import ConfigError, ForbiddenError
from masthead.testing._configurations import config_of
from masthead_server.admission.registry import OFF_BY_DEFAULT, PLUGINS, UNAVAILABLE, choose_plugins
from masthead_server.command import main

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "main", "image": "nginx"}]},
}


def make_pod(**options: Any) -> dict[str, Any]:
    """Create a pod on a new server, and return its spec."""
    with masthead.server.run(**options) as server, Client(config_of(server)) as client:
        spec = client.dynamic("v1", "Pod", namespace="default").create(POD).to_dict()["spec"]
        assert isinstance(spec, dict)
        return spec


def test_the_defaults_are_those_of_kube_apiserver() -> None:
    assert choose_plugins(True) == PLUGINS.keys() - OFF_BY_DEFAULT
    assert choose_plugins(False) == frozenset()
    assert PLUGINS.keys() >= OFF_BY_DEFAULT
    assert not UNAVAILABLE & PLUGINS.keys()


@pytest.mark.parametrize(
    ("wanted", "added", "removed"),
    [
        pytest.param({}, set(), set(), id="no switch"),
        pytest.param({"AlwaysPullImages": True}, {"AlwaysPullImages"}, set(), id="one on"),
        pytest.param({"PodSecurity": False}, set(), {"PodSecurity"}, id="one off"),
        pytest.param({"EventRateLimit": False}, set(), set(), id="off and not there"),
    ],
)
def test_a_mapping_switches_plugins(wanted: Mapping[str, bool], added: set[str], removed: set[str]) -> None:
    assert choose_plugins(wanted) == (choose_plugins(True) | added) - removed


def test_names_are_the_only_plugins() -> None:
    assert choose_plugins(["Priority", "AlwaysPullImages"]) == {"Priority", "AlwaysPullImages"}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        pytest.param(["Nonsense"], "there is no admission plugin 'Nonsense'", id="unknown"),
        pytest.param({"Nonsense": False}, "there is no admission plugin 'Nonsense'", id="unknown and off"),
        pytest.param(["podsecurity"], "'podsecurity'; did you mean PodSecurity[?] there are ", id="another case"),
        pytest.param(["PodSecurityPolicy"], "did you mean PodSecurity[?]", id="a former name"),
        pytest.param({"LimitRange": False}, "did you mean LimitRanger[?]", id="misspelt and off"),
        pytest.param(["Nonsense"], "'Nonsense'; there are NamespaceLifecycle", id="nothing similar"),
        pytest.param(["EventRateLimit"], "EventRateLimit of kube-apiserver is not part of this server", id="not there"),
    ],
)
def test_a_plugin_that_is_not_there_is_refused(wanted: Collection[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        choose_plugins(wanted)


def test_a_pod_gets_the_token_of_its_account() -> None:
    spec = make_pod()

    assert spec["serviceAccountName"] == "default"
    assert spec["containers"][0]["volumeMounts"][0]["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount"
    assert spec["volumes"][0]["name"].startswith("kube-api-access-")


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"controllers": False}, id="no controllers"),
        pytest.param({"bootstrap": False}, id="no bootstrap"),
        pytest.param({"controllers": ["garbage"]}, id="other controllers"),
        pytest.param({"admission": {"ServiceAccount": False}}, id="switched off"),
    ],
)
def test_without_accounts_pods_have_none(options: dict[str, Any]) -> None:
    assert "volumes" not in make_pod(**options)


def test_the_plugin_of_accounts_runs_without_controllers_if_it_is_named() -> None:
    with pytest.raises(ForbiddenError, match="error looking up service account default/default"):
        make_pod(controllers=False, admission={"ServiceAccount": True})


def test_without_plugins_a_pod_stays_as_it_was_sent() -> None:
    spec = make_pod(admission=False)

    assert not spec.keys() & {"priority", "preemptionPolicy", "tolerations", "volumes"}


def test_the_default_namespace_can_be_deleted_without_its_plugin() -> None:
    with masthead.server.run(admission={"NamespaceLifecycle": False}) as server, Client(config_of(server)) as client:
        client.core_v1.namespaces.delete("default")


def test_a_pod_can_be_created_right_after_its_namespace() -> None:
    with masthead.server.run() as server, Client(config_of(server)) as client:
        for number in range(20):
            name = f"n{number}"
            client.core_v1.namespaces.create({"metadata": {"name": name}})
            client.dynamic("v1", "Pod", namespace=name).create(POD)


def test_the_command_refuses_a_plugin_that_is_on_and_off(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--enable-admission-plugins", "A,Priority", "--disable-admission-plugins", " Priority"]

    assert main(arguments, name="serve") == 2
    assert capsys.readouterr().err == "serve: the admission plugin Priority is enabled and disabled; choose one\n"


def test_the_command_refuses_unknown_plugins(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--enable-admission-plugins", "Nonsense"], name="serve") == 2
    assert "there is no admission plugin 'Nonsense'" in capsys.readouterr().err


def test_a_wrong_setting_is_refused() -> None:
    server = masthead.server.run(admission="PodSecurity")

    with pytest.raises(ConfigError, match="admission must be a bool, names, or a mapping"), server:
        pass
