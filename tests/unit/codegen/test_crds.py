"""Types for custom resources, generated from the manifests in tests/data/crds."""

from __future__ import annotations

import importlib
import json
import py_compile
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.codegen.filler import Filler, data_for
from tests.unit.codegen.kubernetes import ROOT, attributes
from tests.unit.codegen.tools import complaints_about

from masthead._codegen import crds, generate, sources
from masthead._codegen.command import main
from masthead._meta import yaml
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.merge import Merge
from masthead._meta.object import Object
from masthead._meta.registry import Registry
from masthead._meta.resource import Resource, Subresource
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import ModuleType

MANIFESTS = sorted((ROOT / "tests" / "data" / "crds").glob("*.yaml"))
PACKAGE = "types_for_custom_resources"
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
SUBRESOURCE_VERBS = ("get", "patch", "update")

# Every property of Object in awkward.yaml that is not simply written with underscores.
AWKWARD = {
    "": "field_",
    "$special": "special",
    "123abc": "field_123abc",
    "FooBar": "foo_bar",
    "None": "none",
    "UPPER": "upper",
    "apiType": "api_type_",
    "bool": "bool_",
    "class": "class_",
    "class_": "class__",
    "cls": "cls_",
    "copy": "copy_",
    "declared": "declared_",
    "dict": "dict_",
    "field": "field__",
    "fooBar": "foo_bar_",
    "fooV1beta1": "foo_v1beta1",
    "foo_bar": "foo_bar__",
    "größe": "gr_e",
    "hostIPs": "host_ips",
    "it's": "it_s",
    "items": "items",
    "key": "key",
    "lambda": "lambda_",
    "list": "list_",
    "mro": "mro_",
    "self": "self_",
    "spec-size": "spec_size",
    "str": "str_",
    "toJson": "to_json_",
    "to_json": "to_json__",
    "type": "type",
    "with space": "with_space",
    "x509Certs": "x509_certs",
    "名前": "field___",
}


def definitions() -> Iterator[Mapping[str, Any]]:
    for path in MANIFESTS:
        for document in yaml.load_all(path.read_bytes()):
            yield from crds.definitions_in(document)


def schema_of(kind: str, version: str = "v1") -> dict[str, Any]:
    """The schema of a kind as its manifest has it, and what every object has besides."""
    for definition in definitions():
        for each in definition["spec"]["versions"]:
            if (definition["spec"]["names"]["kind"], each["name"]) == (kind, version):
                schema: dict[str, Any] = each["schema"]["openAPIV3Schema"]
                own = {
                    name: inner
                    for name, inner in schema.get("properties", {}).items()
                    if name not in {"apiVersion", "kind", "metadata"}
                }
                return {**schema, "properties": own}
    raise LookupError(kind)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    parent = tmp_path_factory.mktemp("generated")
    generate.write(generate.files_for(sources.from_manifests(MANIFESTS), PACKAGE), parent / PACKAGE)
    sys.path.insert(0, str(parent))
    importlib.invalidate_caches()
    yield parent / PACKAGE
    sys.path.remove(str(parent))
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def stable(folder: Path) -> ModuleType:
    return importlib.import_module(f"{folder.name}.stable_example_com.v1")


@pytest.fixture(scope="module")
def awkward(folder: Path) -> ModuleType:
    return importlib.import_module(f"{folder.name}.awkward_example_com.v1")


@pytest.fixture(scope="module")
def registry(folder: Path) -> Registry:
    return Registry(f"{folder.name}.index")


def test_each_served_version_has_a_module_and_no_other_has(folder: Path) -> None:
    modules = {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")}

    assert modules == {
        "__init__.py",
        "index.py",
        "awkward_example_com/__init__.py",
        "awkward_example_com/v1.py",
        "policy_sea_k8s_io/__init__.py",
        "policy_sea_k8s_io/v1.py",
        "sea_example_org/__init__.py",
        "sea_example_org/v1.py",
        "stable_example_com/__init__.py",
        "stable_example_com/v1.py",
        "stable_example_com/v1beta1.py",
    }


@pytest.mark.parametrize("docs", [False, True])
def test_what_is_generated_compiles_and_pleases_formatter_and_linter(tmp_path: Path, docs: bool) -> None:
    files = generate.files_for(sources.from_manifests(MANIFESTS), "made", docs=docs)

    generate.write(files, tmp_path)

    for path in files:
        py_compile.compile(str(tmp_path / path), doraise=True)
    assert complaints_about(tmp_path) == ""


def test_documentation_is_copied_only_on_request(folder: Path, tmp_path: Path) -> None:
    generate.write(generate.files_for(sources.from_manifests(MANIFESTS), "documented_types", docs=True), tmp_path)

    plain = (folder / "stable_example_com" / "v1.py").read_text("utf-8")
    documented = (tmp_path / "stable_example_com" / "v1.py").read_text("utf-8")
    quoted = (tmp_path / "awkward_example_com" / "v1.py").read_text("utf-8")

    assert "whenever its time" not in plain
    assert '    """Runs a job whenever its time has come."""' in documented
    assert '    spec: CronTabSpec = field(default_factory=CronTabSpec)\n    """What should run' in documented
    assert "    - minute and hour\n" in documented
    assert r'''"""\"Quoted", with a \\backslash\\, three \"\"\" quotes''' in quoted
    assert r'''"""ends with a backslash \\"""''' in quoted


def test_kinds_are_registered_by_the_index(registry: Registry) -> None:
    assert [str(gvk) for gvk in registry.kinds()] == [
        "awkward.example.com/v1, kind Merge",
        "awkward.example.com/v1, kind MergeList",
        "awkward.example.com/v1, kind Object",
        "awkward.example.com/v1, kind ObjectList",
        "awkward.example.com/v1, kind re-source",
        "awkward.example.com/v1, kind re-sources",
        "policy.sea.k8s.io/v1, kind Tide",
        "policy.sea.k8s.io/v1, kind TideList",
        "sea.example.org/v1, kind Harbour",
        "sea.example.org/v1, kind HarbourList",
        "stable.example.com/v1, kind CronTab",
        "stable.example.com/v1, kind CronTabList",
        "stable.example.com/v1beta1, kind CronTab",
        "stable.example.com/v1beta1, kind CronTabList",
    ]
    for gvk in registry.kinds():
        assert gvk == registry.class_of(gvk).GVK


def test_a_kind_knows_its_resource(registry: Registry) -> None:
    cron_tab = GroupVersionKind("stable.example.com", "v1", "CronTab")
    harbour = GroupVersionKind("sea.example.org", "v1", "Harbour")

    assert (
        Resource(
            "crontabs",
            singular="crontab",
            namespaced=True,
            verbs=VERBS,
            short_names=("ct",),
            categories=("all", "example"),
            subresources=(
                Subresource("status", cron_tab, SUBRESOURCE_VERBS),
                Subresource("scale", GroupVersionKind("autoscaling", "v1", "Scale"), SUBRESOURCE_VERBS),
            ),
        )
        == registry.object_class(cron_tab).RESOURCE
    )
    assert (
        Resource(
            "harbours",
            singular="harbour",
            namespaced=False,
            verbs=VERBS,
            short_names=("hb", "port"),
            subresources=(Subresource("status", harbour, SUBRESOURCE_VERBS),),
        )
        == registry.object_class(harbour).RESOURCE
    )


def test_types_carry_how_they_merge_and_what_the_server_fills_in(stable: ModuleType) -> None:
    assert {
        "days": Merge(list_type="set"),
        "quotas": Merge(map_type="atomic"),
        "selector": Merge(map_type="atomic"),
        "steps": Merge(list_type="map", keys=("name",)),
    } == stable.CronTabSpec.MERGE
    assert stable.CronTabSpecStepsEnv.DEFAULTS == {"kind": "plain"}
    assert stable.CronTabSpecSelector.ATOMIC
    assert not stable.CronTabSpecLimits.ATOMIC
    assert stable.CronTabSpec.DEFAULTS == {
        "maxUnavailable": "25%",
        "policy": "Allow",
        "replicas": 1,
        "verbose": True,
    }


def test_unset_fields_read_as_their_schema_lets_them(stable: ModuleType) -> None:
    made = stable.CronTab.new("nightly")

    assert made.spec.steps == []
    assert made.spec.windows == {}
    assert made.spec.limits.cpu is None  # required, so a value
    assert made.spec.retry is None
    assert made.spec.cron_spec == ""  # required
    assert made.spec.retries == 0  # zero by default
    assert made.spec.zone == ""
    assert made.spec.replicas is None  # one by default, which DEFAULTS knows
    assert made.spec.weight is None
    assert made.status.conditions == []  # by convention, a status is a value
    assert made.to_dict() == {
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "metadata": {"name": "nightly"},
    }


def test_fields_have_the_types_that_their_schemas_say(stable: ModuleType) -> None:
    made = stable.CronTab.from_dict(Filler().fill(schema_of("CronTab")))

    assert isinstance(made.spec.seal, bytes)
    assert made.spec.start_after.tzinfo is not None
    assert [[type(cell) for cell in row] for row in made.spec.matrix] == [[int, int], [int, int]]
    assert type(made.spec.windows["key-0"]) is stable.CronTabSpecWindows
    assert type(made.spec.steps[1].env[0]) is stable.CronTabSpecStepsEnv
    assert made.spec.hints.colour
    assert made.spec.template["unheardOf"]
    with pytest.raises(DecodeError, match="replicas: expected an integer"):
        made.spec.replicas = "three"
    made.spec.port = "http"
    made.spec.port = 80


def test_nullable_items_may_be_null(stable: ModuleType) -> None:
    data = {"spec": {"gaps": [1, None, 3]}}

    assert stable.CronTab.from_dict(data).spec.gaps == [1, None, 3]
    assert stable.CronTab.from_dict(data).to_dict()["spec"] == data["spec"]


def test_zeroes_that_are_required_are_written(awkward: ModuleType) -> None:
    spec = awkward.ObjectSpec(class_="", count=0, switch=False)

    assert spec.to_dict() == {"class": "", "count": 0, "switch": False}


def test_awkward_names_get_attributes_of_their_own(awkward: ModuleType) -> None:
    named = attributes(awkward.ObjectSpec)

    assert {wire: named[wire] for wire in AWKWARD} == AWKWARD
    assert set(named) == set(schema_of("Object")["properties"]["spec"]["properties"])
    assert {wire: attribute for wire, attribute in attributes(awkward.Object).items() if "_" in attribute} == {
        "apiVersion": "api_version",
        "api_version": "api_version_",
        "Kind": "kind_",
        "generateName": "generate_name_",
        "key": "key_",
        "labels": "labels_",
        "list": "list_",
        "name": "name_",
    }


def test_sections_called_as_metadata_is_can_be_given_to_new(awkward: ModuleType) -> None:
    made = awkward.Object.new("the-name", labels={"a": "b"}, name_="another", labels_=["c"], key_="d")

    assert made.key == "the-name"
    assert made.to_dict() == {
        "apiVersion": "awkward.example.com/v1",
        "kind": "Object",
        "metadata": {"name": "the-name", "labels": {"a": "b"}},
        "name": "another",
        "labels": ["c"],
        "key": "d",
    }


def test_classes_called_as_imports_are_still_kinds_and_lists(awkward: ModuleType) -> None:
    listed = awkward.ObjectList.from_dict({"items": [{"meta": {"since": "2026-01-02T03:04:05Z"}}]})

    assert issubclass(awkward.Object, Object)
    assert awkward.Object is not Object
    assert type(listed[0]) is awkward.Object
    assert listed[0].meta.since.year == 2026
    assert {"parts": Merge(list_type="set")} == awkward.Merge.MERGE


def test_defaults_are_kept_whatever_characters_they_have(awkward: ModuleType) -> None:
    properties = schema_of("Object")["properties"]["spec"]["properties"]

    assert {
        wire: properties[wire]["default"] for wire in ("lines", "motto", "quotes", "shout")
    } == awkward.ObjectSpec.DEFAULTS


@pytest.mark.parametrize("zeroes", [False, True])
@pytest.mark.parametrize(
    ("kind", "version"),
    [("CronTab", "v1"), ("CronTab", "v1beta1"), ("Object", "v1"), ("re-source", "v1"), ("Merge", "v1")],
)
def test_an_object_with_every_field_filled_in_survives_dict_json_and_yaml(
    registry: Registry, kind: str, version: str, zeroes: bool
) -> None:
    cls = next(registry.object_class(gvk) for gvk in registry.kinds() if (gvk.kind, gvk.version) == (kind, version))
    said = {"apiVersion": cls.GVK.api_version, "kind": kind, "metadata": {"name": "filled"}}
    data = {**said, **Filler(zeroes=zeroes).fill(schema_of(kind, version))}

    made = cls.from_dict(data)

    assert made.to_dict() == data
    assert cls.from_json(json.dumps(data)).to_dict() == data
    assert cls.from_yaml(made.to_yaml()).to_dict() == data
    assert made.copy() == made


@pytest.mark.slow
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_object_that_fits_the_schema_survives(stable: ModuleType, data: st.DataObject) -> None:
    drawn = data.draw(data_for(schema_of("CronTab")))
    drawn |= {"apiVersion": "stable.example.com/v1", "kind": "CronTab"}

    made = stable.CronTab.from_json(json.dumps(drawn))

    assert stable.CronTab.from_dict(drawn).to_dict() == drawn
    assert repr(made)
    assert made.to_dict() == drawn


def test_fields_that_the_schema_does_not_know_are_kept(stable: ModuleType) -> None:
    data = {"spec": {"hints": {"colour": "red", "other": [1]}, "newer": {"a": 1}}, "more": True}

    made = stable.CronTab.from_dict(data)
    made.spec.replicas = 3

    assert made.to_dict() == {
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "spec": {**data["spec"], "replicas": 3},  # type: ignore[dict-item]
        "more": True,
    }


USER = """\
from typing_extensions import assert_type

from made.awkward_example_com.v1 import Object, ObjectList, ObjectSpec
from made.stable_example_com.v1 import CronTab, CronTabList, CronTabSpec, CronTabSpecSteps

tab = CronTab.new("nightly", namespace="default", spec={"cronSpec": "* * * * *"})
other = CronTab.new(spec=CronTabSpec(cron_spec="* * * * *", steps=[CronTabSpecSteps(name="one")]))
assert_type(tab.spec.steps[0].env[0].value, str | None)
assert_type(tab.spec.replicas, int | None)
assert_type(tab.spec.cron_spec, str)
assert_type(tab.spec.gaps, list[int | None])
assert_type(tab.status.conditions[0].status, str)
assert_type(tab.metadata.name, str)
assert_type(tab.copy(), CronTab)
tabs = CronTabList.from_json(b"{}")
assert_type([each.spec.image for each in tabs], list[str])
odd = Object.new("odd", name_="other", labels_=["a"], list_=[{"from": "b"}], spec=ObjectSpec(class_="x"))
assert_type(odd.spec.class_, str)
assert_type(odd.list_[0].from_, str | None)
assert_type(ObjectList(items=[odd])[0], Object)
"""


@pytest.mark.slow
def test_type_checkers_are_content_with_what_is_generated(tmp_path: Path) -> None:
    main(["--crd", *map(str, MANIFESTS), "--docs", "--out", str(tmp_path / "made")])
    (tmp_path / "user.py").write_text(USER, "utf-8")
    configuration = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT / "src")],
        "include": ["."],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(configuration), "utf-8")
    commands = {
        "mypy": ["--strict", "--python-version=3.11", "--cache-dir=.cache", "--no-error-summary", "."],
        "pyright": ["--pythonpath", sys.executable],
    }

    running = {
        name: subprocess.Popen(
            [sys.executable, "-m", name, *arguments],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "MYPYPATH": str(ROOT / "src")},
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, arguments in commands.items()
    }
    said = {name: process.communicate()[0] for name, process in running.items()}

    assert {name: process.returncode for name, process in running.items()} == dict.fromkeys(commands, 0), said


def test_null_stays_where_the_schema_makes_it_a_value_of_its_own(stable: ModuleType) -> None:
    assert {"note", "owner"} <= set(stable.CronTabSpec.NULLABLE)

    tab = stable.CronTab.from_dict({"spec": {"note": None, "owner": None}})
    tab.spec.replicas = 0

    assert tab.to_dict()["spec"] == {"note": None, "owner": None, "replicas": 0}
