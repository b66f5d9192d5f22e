"""All checks of a release: ``python -m tools.release dist``."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from masthead._version import __version__
from tools.release import archives, changelog, installs, licences, pythons, sbom

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT: Final = Path(__file__).parents[2]
NOT_FOR_USERS: Final = frozenset({"bench", "dev", "docs", "peers"})
"""Extras of development; what they bring is not passed on with a release."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a release and write its SBOM; return the exit code: 0 if nothing is wrong."""
    options = _parser().parse_args(arguments)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    try:
        found = installs.archives_of(options.folder)
        wrong = [
            *version_problems(project, options.tag),
            *changelog.problems((ROOT / "CHANGELOG.md").read_text("utf-8"), project["version"]),
            *_archive_problems(found, project),
            *_licence_problems(found, project, options.folder),
            *_install_problems(found, project, options.pythons),
        ]
    except installs.InstallError as error:
        wrong = [str(error)]
    for each in wrong:
        print(f"WRONG: {each}", file=sys.stderr)
    print("Not ready to be released." if wrong else f"{project['name']} {project['version']} can be released.")
    return 1 if wrong else 0


def version_problems(project: Mapping[str, Any], tag: str) -> list[str]:
    """What is wrong with the version: the package, its metadata and the tag must agree."""
    version = project["version"]
    found: list[str] = []
    if __version__ != version:
        found.append(f"masthead.__version__ is {__version__}, and pyproject.toml has {version}")
    if tag and tag != f"v{version}":
        found.append(f"the tag is {tag}, and the version {version}: it must be v{version}")
    return found


def supported(project: Mapping[str, Any]) -> list[str]:
    """The versions of Python that a project supports, oldest first."""
    prefix = "Programming Language :: Python :: 3."
    minors = [each.removeprefix(prefix) for each in project["classifiers"] if each.startswith(prefix)]
    return [f"3.{minor}" for minor in sorted(map(int, minors))]


def user_extras(project: Mapping[str, Any]) -> tuple[str, ...]:
    """The extras that users install."""
    return tuple(sorted(project["optional-dependencies"].keys() - NOT_FOR_USERS))


def _archive_problems(found: list[Path], project: Mapping[str, Any]) -> list[str]:
    wrong: list[str] = []
    for path in found:
        archive = archives.read_archive(path)
        print(f"{archive.name}: {archive.size:,} bytes, {len(archive.files):,} files")
        wrong += [f"{archive.name}: {problem}" for problem in archives.problems(archive, project)]
    return wrong


def _licence_problems(found: list[Path], project: Mapping[str, Any], folder: Path) -> list[str]:
    """Check the licences of what is installed with all extras, and write the SBOM."""
    (wheel,) = (each for each in found if each.suffix == ".whl")
    name, extras = project["name"], user_extras(project)
    listed = installs.inventory(wheel, Path(sys.executable), extras)
    installed = {each.name: each for each in map(licences.Distribution.from_json, listed)}
    brought = licences.closure(name, extras, installed).values()
    print(f"Licences of what {name}[{','.join(extras)}] brings:", *licences.table(brought), sep="\n")
    hashes = {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in found}
    path = folder / f"{name}-{project['version']}.cdx.json"
    path.write_text(sbom.to_text(sbom.bom(name, extras, installed, hashes)), encoding="utf-8")
    print(f"{path}: {len(brought)} components")
    return licences.refused(brought)


def _install_problems(found: list[Path], project: Mapping[str, Any], required: list[str]) -> list[str]:
    minors = supported(project)
    at_hand = pythons.find(minors)
    print("Pythons at hand:", ", ".join(map(str, at_hand.values())) or "none")
    absent = [minor for minor in minors if minor not in at_hand]
    if absent:
        print(f"Not at hand, so not tried: {', '.join(absent)}")
    wrong = [f"Python {each} is not at hand" for each in required if each not in at_hand]
    if not at_hand:
        wrong.append("there is no Python at hand that is supported")
    for interpreter in at_hand.values():
        for archive in found:
            try:
                installs.use(archive, interpreter.path)
                print(f"Python {interpreter.minor}, {archive.name}: installed and used", flush=True)
            except installs.InstallError as error:
                wrong.append(f"Python {interpreter.minor}, {archive.name}: {error}")
    return wrong


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the wheel and the sdist are; the SBOM is written there")
    parser.add_argument(
        "--pythons",
        type=lambda text: [each for each in text.split(",") if each],
        default=[],
        metavar="3.11,...",
        help="versions that must be at hand; by default, those that are",
    )
    parser.add_argument(
        "--tag",
        default=os.environ.get("TAG", ""),
        help="the tag of the release (default: $TAG), such as v0.1.0",
    )
    return parser
