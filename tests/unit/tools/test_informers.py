"""The groups of an informer factory: those of the clientset, with the resources that can be watched."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from functools import cached_property
from typing import TYPE_CHECKING

from tests.unit.codegen.kubernetes import FOLDER, LEGACY, discovered, needs_documents
from tests.unit.codegen.tools import reformatted
from tests.unit.tools.test_clientset import ALL, resource, spec_of
from tools import clientset
from tools.groups import groups_of
from tools.headers import first_line
from tools.informers import render_informer_group, render_informer_groups

from masthead._cache.factory import groups as generated
from masthead._client import clientset as clients
from masthead._meta.registry import registry

if TYPE_CHECKING:
    from pathlib import Path

    from masthead._cache.factory.informers import InformerGroup

GROUPS = "masthead.aio.informers"


def properties_of(cls: type) -> dict[str, str]:
    """The annotation of each attribute of a class."""
    return {
        name: str(inspect.signature(each.func).return_annotation)
        for name, each in vars(cls).items()
        if isinstance(each, cached_property)
    }


def groups() -> dict[str, type[InformerGroup]]:
    found = properties_of(generated.InformerGroups)
    return {
        accessor: getattr(importlib.import_module(f"{GROUPS}.{accessor}"), name) for accessor, name in found.items()
    }


def test_a_watchable_resource_has_an_attribute_named_like_the_clients_method() -> None:
    spec = spec_of(
        ConfigMap_v1=resource("configmaps"),
        Review_v1=resource("reviews", verbs=("create",)),
        Status_v1=resource("statuses", verbs=("get", "list")),
    )
    (group,) = groups_of(spec)

    text = render_informer_group(group.watched)

    assert "def config_maps(self) -> Informers[example_com_v1.ConfigMap]:" in text
    assert 'return self._informers("ConfigMap")' in text
    assert "reviews" not in text
    assert "statuses" not in text


def test_a_group_without_watchable_resources_is_left_out() -> None:
    spec = spec_of(Pod_v1=resource("pods"), Review_v2=resource("reviews", verbs=("create",)))

    text = render_informer_groups(groups_of(spec))

    assert "example_com_v1" in text
    assert "v2" not in text


def test_generated_code_is_already_formatted() -> None:
    spec = spec_of(
        Pod_v1=resource("pods", "status"),
        ValidatingAdmissionPolicyBindingOfManyWords_v1beta1=resource(
            "validatingadmissionpolicybindingsofmanywords", verbs=ALL, namespaced=False
        ),
    )

    groups = groups_of(spec)

    for is_blocking in (False, True):
        text = render_informer_groups(groups, is_blocking=is_blocking)
        assert reformatted(text) == text
        for group in groups:
            text = render_informer_group(group, is_blocking=is_blocking)
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
        home = importlib.import_module(f"masthead.aio.clientset.{accessor}")
        methods = vars(getattr(home, accessors[accessor]))
        assert set(properties_of(group)) <= {*methods}
        for name, kind in properties_of(group).items():
            returns = inspect.signature(methods[name].fget).return_annotation
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
def test_the_command_writes_clients_and_informers_and_removes_leftovers(tmp_path: Path) -> None:
    stale = tmp_path / "aio" / "clientset" / "stale_v1.py"
    stale.parent.mkdir(parents=True)
    stale.write_text(first_line("The resources of stale/v1"), "utf-8")

    assert clientset.main(["--openapi", str(FOLDER), "--legacy", str(LEGACY), "--out", str(tmp_path)]) == 0

    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.py")}
    assert {"_client/clientset.py", "aio/clientset/apps_v1beta1.py", "_sync/clientset.py"} <= written
    assert {"_cache/factory/groups.py", "aio/informers/apps_v1.py"} <= written
    assert {"_sync/groups.py", "informers/apps_v1.py"} <= written
    assert not stale.exists()
