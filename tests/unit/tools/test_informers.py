"""The groups of a factory of informers: those of the clientset, as far as they can be watched."""

from __future__ import annotations

import inspect
import subprocess
import sys
from functools import cached_property
from typing import TYPE_CHECKING

from tests.unit.codegen.kubernetes import FOLDER, discovered, needs_documents
from tests.unit.codegen.tools import reformatted
from tests.unit.tools.test_clientset import ALL, resource, spec_of
from tools import clientset
from tools.informers import render_informers

from masthead._cache.factory import groups as generated
from masthead._client import clientset as clients
from masthead._meta.registry import registry

if TYPE_CHECKING:
    from pathlib import Path

    from masthead._cache.factory.informers import InformerGroup


def properties_of(cls: type) -> dict[str, str]:
    """What each attribute of a class is said to be."""
    return {
        name: str(inspect.signature(each.func).return_annotation)
        for name, each in vars(cls).items()
        if isinstance(each, cached_property)
    }


def groups() -> dict[str, type[InformerGroup]]:
    found = properties_of(generated.InformerGroups)
    return {accessor: getattr(generated, name) for accessor, name in found.items()}


def test_what_can_be_listed_and_watched_has_an_attribute_called_as_the_clients_method() -> None:
    spec = spec_of(
        ConfigMap_v1=resource("configmaps"),
        Review_v1=resource("reviews", verbs=("create",)),
        Status_v1=resource("statuses", verbs=("get", "list")),
    )

    text = render_informers(clientset.groups_of(spec))

    assert "def config_maps(self) -> Informers[example_com_v1.ConfigMap]:" in text
    assert 'return self._informers("ConfigMap")' in text
    assert "reviews" not in text
    assert "statuses" not in text


def test_a_group_of_which_nothing_can_be_watched_is_left_out() -> None:
    spec = spec_of(Pod_v1=resource("pods"), Review_v2=resource("reviews", verbs=("create",)))

    text = render_informers(clientset.groups_of(spec))

    assert "example_com_v1" in text
    assert "v2" not in text


def test_what_is_written_needs_no_formatter() -> None:
    spec = spec_of(
        Pod_v1=resource("pods", "status"),
        ValidatingAdmissionPolicyBindingOfManyWords_v1beta1=resource(
            "validatingadmissionpolicybindingsofmanywords", verbs=ALL, namespaced=False
        ),
    )

    text = render_informers(clientset.groups_of(spec))

    assert reformatted(text) == text


@needs_documents
def test_every_resource_that_can_be_watched_has_informers() -> None:
    found = {
        (each.GROUP_VERSION.group, each.GROUP_VERSION.version, registry.resource_of(gvk).resource)
        for each in groups().values()
        for kind in properties_of(each).values()
        for gvk in [each.GROUP_VERSION.kind(kind.removesuffix("]").rpartition(".")[2])]
    }

    assert found == {
        (group, version, each["resource"])
        for group, version, each in discovered()
        if {"list", "watch"} <= {*each.get("verbs", ())}
    }


def test_names_are_those_of_the_clientset() -> None:
    accessors = properties_of(clients.Clientset)
    for accessor, group in groups().items():
        methods = vars(getattr(clients, accessors[accessor]))
        assert set(properties_of(group)) <= {*methods}
        for name, kind in properties_of(group).items():
            returns = inspect.signature(methods[name]).return_annotation
            assert returns.partition("[")[2] == kind.partition("[")[2]


def test_importing_the_factory_imports_no_types() -> None:
    script = (
        "import sys\n"
        "import masthead._cache.factory.factory, masthead._sync.factory\n"
        "print([name for name in sys.modules if name.startswith('masthead.api.')])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


@needs_documents
def test_the_command_writes_both(tmp_path: Path) -> None:
    out, informers = tmp_path / "clientset.py", tmp_path / "groups.py"

    assert clientset.main(["--openapi", str(FOLDER), "--out", str(out), "--informers", str(informers)]) == 0
    assert out.read_text("utf-8").startswith('"""Every group that Kubernetes serves')
    assert informers.read_text("utf-8").startswith('"""The informers of every group that Kubernetes serves')
