"""The pure parts of `make release-check`."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools.release import changelog, licences, sbom
from tools.release.archives import Archive, problems
from tools.release.check import supported, user_extras, version_problems
from tools.release.inventory import distributions
from tools.release.licences import ALLOWED, Distribution, closure, expression_of, is_allowed
from tools.release.pythons import Interpreter, find, newest

ROOT = Path(__file__).parents[3]
PROJECT: dict[str, Any] = {
    "name": "boat",
    "version": "1.2.0",
    "description": "A boat.",
    "license": "Apache-2.0",
    "requires-python": ">=3.11",
    "classifiers": ["Programming Language :: Python :: 3", "Programming Language :: Python :: 3.11"],
    "optional-dependencies": {"sails": ["cloth"], "dev": ["pytest"]},
}
METADATA = """\
Metadata-Version: 2.4
Name: boat
Version: 1.2.0
Summary: A boat.
License-Expression: Apache-2.0
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: Python :: 3.11
Requires-Python: >=3.11
Provides-Extra: sails
Provides-Extra: dev
Description-Content-Type: text/markdown

# Boat
"""
WHEEL_FILES = frozenset(
    {
        "masthead/__init__.py",
        "masthead/py.typed",
        "boat-1.2.0.dist-info/METADATA",
        "boat-1.2.0.dist-info/licenses/LICENSE",
    }
)


def wheel(*more: str, without: str = "", size: int = 1, metadata: str = METADATA) -> Archive:
    files = (WHEEL_FILES | set(more)) - {without}
    return Archive("boat-1.2.0-py3-none-any.whl", size, files, metadata.encode())


def distribution(name: str, *requires: str, licence: str = "MIT", version: str = "1.0") -> Distribution:
    return Distribution(name, version, f"{name}.", licence, requires)


INSTALLED = {
    each.name: each
    for each in (
        distribution("boat", "hull>=1", "cloth; extra == 'sails'", "pytest; extra == 'dev'"),
        distribution("hull", "Ship.Wood[oak]", "never; python_version < '3'"),
        distribution("ship-wood", "oak; extra == 'oak'", licence="Apache-2.0 OR BSD-3-Clause"),
        distribution("oak", "hull"),
        distribution("cloth", licence="GPL-3.0-only"),
        distribution("pytest"),
    )
}


def test_a_good_wheel_has_no_problems() -> None:
    assert problems(wheel(), PROJECT, "masthead") == []


@pytest.mark.parametrize(
    ("archive", "problem"),
    [
        (wheel(without="masthead/py.typed"), "masthead/py.typed is missing"),
        (wheel(without="boat-1.2.0.dist-info/licenses/LICENSE"), "LICENSE is missing"),
        (wheel("tests/test_it.py"), "tests does not belong into the wheel"),
        (wheel("tools/x.py"), "tools does not belong into the wheel"),
        (wheel("masthead/__pycache__/x.pyc"), "does not belong into an archive"),
        (wheel(size=10**9), "bytes are more than"),
        (wheel(metadata=METADATA.replace("1.2.0", "1.2.1")), "version is <Version('1.2.1')>"),
        (
            wheel(metadata=METADATA.replace("License-Expression: Apache-2.0\n", "")),
            "license_expression is None",
        ),
        (wheel(metadata=METADATA.replace("Provides-Extra: dev\n", "")), "the extras are"),
        (wheel(metadata=METADATA.replace("# Boat\n", "")), "there is no description"),
        (wheel(metadata=METADATA.replace("Metadata-Version: 2.4", "Metadata-Version: 9")), "metadata: "),
        (wheel(metadata=METADATA.replace(">=3.11", ">=3.10")), "requires_python is >=3.10"),
    ],
)
def test_what_is_wrong_with_a_wheel_is_said(archive: Archive, problem: str) -> None:
    assert problem in "\n".join(problems(archive, PROJECT, "masthead"))


def test_a_wheel_for_one_platform_is_refused() -> None:
    found = Archive("boat-1.2.0-cp311-cp311-linux_x86_64.whl", 1, WHEEL_FILES, METADATA.encode())

    assert problems(found, PROJECT, "masthead") == ["it is not a pure wheel for every platform"]


def test_an_sdist_has_what_builds_and_describes_it() -> None:
    found = Archive("boat-1.2.0.tar.gz", 1, frozenset({"README.md", "LICENSE"}), METADATA.encode())

    assert "pyproject.toml is missing" in problems(found, PROJECT, "masthead")
    assert "README.md is missing" not in problems(found, PROJECT, "masthead")


@pytest.mark.parametrize(
    ("expression", "text", "classifiers", "licence"),
    [
        ("MIT OR Apache-2.0", "ignored", [], "MIT OR Apache-2.0"),
        ("", "MIT License", [], "MIT"),
        ("", "apache 2.0", [], "Apache-2.0"),
        ("", "a very long text", ["License :: OSI Approved :: MIT License"], "MIT"),
        (
            "",
            "",
            ["License :: OSI Approved :: MIT License", "License :: OSI Approved :: BSD License"],
            "BSD-3-Clause AND MIT",
        ),
        ("", "", ["License :: Other/Proprietary License"], ""),
        ("", "do what you like", [], ""),
        ("", "", [], ""),
    ],
)
def test_the_licence_is_the_best_that_the_metadata_say(
    expression: str, text: str, classifiers: list[str], licence: str
) -> None:
    assert expression_of(expression, text, classifiers) == licence


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 AND MIT", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("GPL-3.0-only OR MIT AND BSD-2-Clause", True),
        ("(MIT OR GPL-3.0-only) AND LGPL-3.0-only", False),
        ("(MIT OR GPL-3.0-only) AND (Apache-2.0)", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("", False),
        ("MIT MIT", False),
    ],
)
def test_a_licence_is_allowed_if_one_may_choose_permissive_ones_only(expression: str, *, allowed: bool) -> None:
    assert is_allowed(expression) is allowed


names = st.sampled_from(sorted(ALLOWED)) | st.sampled_from(["GPL-3.0-only", "MPL-2.0"])
expressions = st.recursive(
    names.map(lambda name: (name, name in ALLOWED)),
    lambda inner: st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
        lambda all_: (
            f"({all_[0][0]} {all_[1]} {all_[2][0]})",
            (all_[0][1] and all_[2][1]) if all_[1] == "AND" else (all_[0][1] or all_[2][1]),
        )
    ),
)


@given(expressions)
def test_expressions_are_judged_by_their_logic(case: tuple[str, bool]) -> None:
    expression, allowed = case

    assert is_allowed(expression) is allowed


def test_what_comes_with_a_distribution_is_found_through_extras_and_circles() -> None:
    assert list(closure("boat", (), INSTALLED)) == ["hull", "oak", "ship-wood"]
    assert list(closure("boat", ("sails",), INSTALLED)) == ["cloth", "hull", "oak", "ship-wood"]


def test_a_licence_that_is_not_allowed_or_not_known_is_refused() -> None:
    found = closure("boat", ("sails",), INSTALLED).values()

    assert [each.partition(",")[0] for each in licences.refused(found)] == ["cloth 1.0: its licence is GPL-3.0-only"]
    assert "unknown" in licences.refused([distribution("mystery", licence="")])[0]
    assert licences.table([distribution("a"), distribution("bcd", licence="")]) == [
        "  a    1.0  MIT",
        "  bcd  1.0  unknown",
    ]


def test_the_licences_of_what_is_installed_here_are_allowed() -> None:
    found = {each.name: each for each in map(Distribution.from_json, distributions())}
    extras = user_extras(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"])

    assert licences.refused(closure("masthead-k8s", extras, found).values()) == []


def test_an_sbom_lists_components_with_licences_and_edges() -> None:
    made = sbom.bom("boat", ["sails"], INSTALLED, {"boat.whl": "abc"})

    assert (made["bomFormat"], made["specVersion"], made["version"]) == ("CycloneDX", "1.6", 1)
    by_name = {each["name"]: each for each in made["components"]}
    assert by_name.keys() == {"cloth", "hull", "oak", "ship-wood"}
    assert by_name["hull"] == {
        "type": "library",
        "bom-ref": "pkg:pypi/hull@1.0",
        "name": "hull",
        "version": "1.0",
        "purl": "pkg:pypi/hull@1.0",
        "description": "hull.",
        "licenses": [{"license": {"id": "MIT"}}],
        "scope": "required",
    }
    assert by_name["cloth"]["scope"] == "optional"
    assert by_name["ship-wood"]["licenses"] == [{"expression": "Apache-2.0 OR BSD-3-Clause"}]
    assert made["metadata"]["component"]["properties"] == [{"name": "sha256:boat.whl", "value": "abc"}]
    edges = {each["ref"]: each["dependsOn"] for each in made["dependencies"]}
    assert edges["pkg:pypi/boat@1.0"] == ["pkg:pypi/cloth@1.0", "pkg:pypi/hull@1.0"]
    assert set(edges) == {"pkg:pypi/boat@1.0", *(each["bom-ref"] for each in made["components"])}


def test_an_sbom_is_the_same_each_time_and_another_one_for_another_release() -> None:
    first, again, other = (
        sbom.to_text(sbom.bom("boat", extras, INSTALLED, {"boat.whl": digest}))
        for extras, digest in (
            (["sails", "dev"], "abc"),
            (["dev", "sails"], "abc"),
            (["sails", "dev"], "def"),
        )
    )

    assert first == again
    assert json.loads(first)["serialNumber"].startswith("urn:uuid:")
    assert json.loads(first)["serialNumber"] != json.loads(other)["serialNumber"]


CHANGES = "# Changelog\n\n## Unreleased\n\n## 1.2.0 - 2026-01-31\n\n### Added\n\n- Sails.\n\n## 1.1.0 - 2026-01-01\n\n- Oars.\n"  # noqa: E501


def test_a_changelog_has_a_dated_section_for_the_release() -> None:
    assert changelog.problems(CHANGES, "1.2.0") == []
    assert changelog.section(CHANGES, "1.2.0 - 2026-01-31").strip() == "### Added\n\n- Sails."


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (CHANGES.replace("## Unreleased\n", ""), "does not begin with `## Unreleased`"),
        (CHANGES.replace("1.2.0 - 2026-01-31", "1.2.0 (soon)"), "needs one heading `## 1.2.0 - YYYY-MM-DD`"),
        (CHANGES.replace("### Added\n\n- Sails.\n", ""), "says nothing about 1.2.0"),
        ("", "needs one heading"),
    ],
)
def test_what_is_wrong_with_a_changelog_is_said(text: str, problem: str) -> None:
    assert problem in "\n".join(changelog.problems(text, "1.2.0"))


def test_our_changelog_has_the_form_of_a_release() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]

    assert changelog.problems((ROOT / "CHANGELOG.md").read_text("utf-8"), version) == []


def test_tag_metadata_and_package_must_have_one_version() -> None:
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    server = tomllib.loads((ROOT / "server" / "pyproject.toml").read_text("utf-8"))["project"]
    assert version_problems(ours, server, "") == version_problems(ours, server, f"v{ours['version']}") == []
    assert "the tag is v9" in version_problems(ours, server, "v9")[0]
    wrong = version_problems({**ours, "version": "99"}, server, "")
    assert "the server must have the version 99 and require masthead-k8s==99" in wrong[0]
    assert "pyproject.toml has 99" in wrong[1]


def test_supported_pythons_and_extras_are_those_of_the_project() -> None:
    many = {"classifiers": [f"Programming Language :: Python :: 3.{minor}" for minor in (9, 11, 10)]}

    assert supported(many) == ["3.9", "3.10", "3.11"]
    assert user_extras(PROJECT) == ("sails",)


def test_the_newest_interpreter_of_each_version_is_chosen_released_ones_first() -> None:
    old, new = Interpreter((3, 11, 2), True, Path("/a")), Interpreter((3, 11, 9), True, Path("/b"))
    beta, other = Interpreter((3, 12, 0), False, Path("/c")), Interpreter((3, 13, 0), True, Path("/d"))

    assert newest([new, beta, other, old], ["3.11", "3.12", "3.14"]) == {"3.11": new, "3.12": beta}
    assert newest([Interpreter((3, 11, 99), False, Path("/e")), old], ["3.11"]) == {"3.11": old}


def test_interpreters_are_found_on_the_path_and_what_does_not_work_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    (tmp_path / f"python{minor}").symlink_to(sys.executable)
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\necho 'pyenv: python3.99: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))

    found = find([minor, "3.99"])

    assert found.keys() == {minor}
    assert found[minor].version == sys.version_info[:3]
