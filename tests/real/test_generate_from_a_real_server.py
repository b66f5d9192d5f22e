"""Types generated from a real kube-apiserver: of its own groups, and of custom resources."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.real_server import RealServer, wait_until
from tools.enumerations import with_enumerations
from tools.headers import COMMAND

from masthead._codegen import crds, generate, render, sources
from masthead._codegen.command import main
from masthead._meta import yaml
from masthead.api.removed import KINDS
from masthead.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import PurePosixPath
    from types import ModuleType

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]

ROOT = Path(__file__).parents[2]
API = ROOT / "src" / "masthead" / "api"
MANIFESTS = sorted((ROOT / "tests" / "data" / "crds").glob("*.yaml"))
GROUPS = ["awkward.example.com", "policy.sea.k8s.io", "sea.example.org", "stable.example.com"]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

# Served only on request: their feature gates are disabled by default.
MAY_BE_ABSENT = {
    "certificates/v1alpha1.py",
    "certificates/v1beta1.py",
    "scheduling/v1alpha2.py",
    "storagemigration/v1beta1.py",
}


@pytest.fixture(scope="module")
def server_with_definitions(real_server: RealServer) -> RealServer:
    """The server, when it serves the custom resources of the manifests."""
    wanted: set[str] = set()
    for path in MANIFESTS:
        for document in yaml.load_all(path.read_bytes()):
            for definition in crds.definitions_in(document):
                real_server.call("POST", DEFINITIONS, definition)
                wanted |= {
                    f"apis/{definition['spec']['group']}/{version['name']}"
                    for version in definition["spec"]["versions"]
                    if version["served"]
                }

    assert wait_until(lambda: wanted <= set(real_server.call("GET", "/openapi/v3")["paths"]))
    assert wait_until(lambda: all(is_served(real_server, path) for path in wanted))
    return real_server


def is_served(server: RealServer, path: str) -> bool:
    """Whether the document has the kinds yet: a group's comes first, and its kinds one by one."""
    resources = {each["name"] for each in server.call("GET", f"/{path}")["resources"] if "/" not in each["name"]}
    schemas = server.call("GET", f"/openapi/v3/{path}")["components"]["schemas"].values()
    kinds = [gvk for schema in schemas for gvk in schema.get("x-kubernetes-group-version-kind", [])]
    own = [gvk for gvk in kinds if f"apis/{gvk['group']}/{gvk['version']}" == path]
    return len(resources) == len(expected_kinds()[path]) and len(own) == 2 * len(resources)


def expected_kinds() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for gvk in sources.from_manifests(MANIFESTS).resources:
        found.setdefault(f"apis/{gvk.group_version}", set()).add(gvk.kind)
    return found


def from_server(
    server: RealServer, package: str, *, groups: list[str] | None = None, docs: bool = False
) -> dict[PurePosixPath, str]:
    spec = sources.from_server(
        Config(server=server.url, token=server.token, ca_file=server.ca_file), groups=groups or []
    )
    return generate.files_for(spec, package, groups=groups or [], docs=docs)


def from_manifests(package: str, *, docs: bool = False) -> dict[PurePosixPath, str]:
    return generate.files_for(sources.from_manifests(MANIFESTS), package, docs=docs)


def test_custom_resources_are_generated_alike_from_server_and_manifest(
    server_with_definitions: RealServer,
) -> None:
    assert from_server(server_with_definitions, "made", groups=GROUPS) == from_manifests("made")


def test_in_documentation_the_server_adds_a_sentence_for_each_list_and_nothing_else(
    server_with_definitions: RealServer,
) -> None:
    served = from_server(server_with_definitions, "made", groups=GROUPS, docs=True)
    sentence = re.compile(r'    """\S+ is a list of \S+"""\n\n')

    assert {path: sentence.sub("", text) for path, text in served.items()} == from_manifests("made", docs=True)
    assert sum(len(sentence.findall(text)) for text in served.values()) == 7


def test_every_served_group_is_generated_as_committed(real_server: RealServer) -> None:
    version: str = real_server.call("GET", "/version")["gitVersion"]
    if not version.startswith("v1.36."):
        pytest.skip(f"what is committed is of Kubernetes 1.36, and the server is {version}")
    removed = {"/".join(module.split(".")[-2:]) + ".py" for module, _ in KINDS.values()}
    committed = {path.relative_to(API).as_posix() for path in API.glob("*/v*.py")} - removed

    # Our own types have enumerated types with names, which the documents of a server do not carry.
    spec = with_enumerations(
        sources.from_server(
            Config(server=real_server.url, token=real_server.token, ca_file=real_server.ca_file), groups=[]
        )
    )
    made = {
        str(path): text.replace(render.COMMAND, COMMAND, 1)
        for path, text in generate.files_for(spec, "masthead.api").items()
    }

    assert committed - set(made) <= MAY_BE_ABSENT
    for path in committed & set(made):
        assert made[path] == (API / path).read_text("utf-8"), path


def test_documentation_is_copied_on_request(real_server: RealServer, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{real_server.token}\n", "ascii")
    arguments = ["--server", real_server.url, "--ca-file", str(real_server.ca_file), "--docs"]

    status = main(
        [
            *arguments,
            "--token-file",
            str(tmp_path / "token"),
            "--group",
            "batch",
            "--out",
            str(tmp_path / "made"),
        ]
    )

    made = (tmp_path / "made" / "batch" / "v1.py").read_text("utf-8")
    assert status == 0
    assert '    """CronJob represents the configuration of a single cron job."""\n' in made
    assert "from made.core.v1 import ObjectReference, PodTemplateSpec\n" in made
    assert (tmp_path / "made" / "core" / "v1.py").is_file()


def test_a_server_that_rejects_the_caller_is_reported(real_server: RealServer, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "made")]

    assert main(["--server", real_server.url, "--insecure", *out]) == 2  # anonymous: 403
    assert main(["--server", real_server.url, *out]) == 2  # an unknown certificate authority
    assert not (tmp_path / "made").exists()


@pytest.fixture
def made(server_with_definitions: RealServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of types for the custom resources, ready to be imported."""
    generate.write(from_server(server_with_definitions, "made_for_real", groups=GROUPS), tmp_path / "made_for_real")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] == "made_for_real"]:
        del sys.modules[name]


def load(module: str) -> ModuleType:
    return importlib.import_module(f"made_for_real.{module}")


@pytest.mark.usefixtures("made")
def test_the_server_sets_the_defaults_of_the_type(server_with_definitions: RealServer) -> None:
    cron_tab: Any = load("stable_example_com.v1").CronTab
    new = cron_tab.new("filled-in", spec={"cron_spec": "* * * * *", "image": "nginx", "limits": {}, "suspended": False})

    created = cron_tab.from_wire(
        server_with_definitions.fetch("POST", "/apis/stable.example.com/v1/namespaces/default/crontabs", new.to_json())
    )

    assert new.spec.replicas is None
    assert created.spec.replicas == 1
    defaults = type(created.spec).DEFAULTS
    assert {wire: created.to_dict()["spec"][wire] for wire in defaults} == defaults
    assert created.spec.retries == 0
    assert created.metadata.uid


@pytest.mark.usefixtures("made")
def test_the_server_accepts_required_zeroes_and_awkward_names(server_with_definitions: RealServer) -> None:
    awkward: Any = load("awkward_example_com.v1")
    new = awkward.Object.new(
        "odd",
        name_="another",
        labels_=["a"],
        spec=awkward.ObjectSpec(
            class_="",
            count=0,
            switch=False,
            special="$",
            field_123abc="1",
            foo_bar=True,
            foo_bar_="b",
            foo_bar__=3,
        ),
    )

    answer = server_with_definitions.fetch(
        "POST", "/apis/awkward.example.com/v1/namespaces/default/objects", new.to_json()
    )

    created = awkward.Object.from_wire(answer)
    assert created.name_ == "another"
    sent = new.to_dict()["spec"]
    assert {wire: created.to_dict()["spec"][wire] for wire in sent} == sent
    assert type(created.spec).DEFAULTS.items() <= created.to_dict()["spec"].items()
