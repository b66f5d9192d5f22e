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
    project, server = _read_project(ROOT), _read_project(ROOT / "server")
    try:
        found = installs.archives_of(options.folder)
        wrong = [
            *version_problems(project, server, options.tag),
            *changelog.problems((ROOT / "CHANGELOG.md").read_text("utf-8"), project["version"]),
            *_archive_problems([pair.library for pair in found], project, "masthead"),
            *_archive_problems([pair.server for pair in found], server, "masthead_server"),
            *_licence_problems(found, project, options.folder),
            *_install_problems(found, project, options.pythons),
        ]
    except installs.InstallError as error:
        wrong = [str(error)]
    for problem in wrong:
        print(f"WRONG: {problem}", file=sys.stderr)
    print("Not ready to be released." if wrong else f"{project['name']} {project['version']} can be released.")
    return 1 if wrong else 0


def _read_project(folder: Path) -> Mapping[str, Any]:
    project: Mapping[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    return project


def version_problems(project: Mapping[str, Any], server: Mapping[str, Any], tag: str) -> list[str]:
    """Return the problems of the version: library, server, metadata and tag must agree."""
    version = project["version"]
    found: list[str] = []
    if server["version"] != version or f"{project['name']}=={version}" not in server["dependencies"]:
        found.append(f"the server must have the version {version} and require {project['name']}=={version}")
    if __version__ != version:
        found.append(f"masthead.__version__ is {__version__}, and pyproject.toml has {version}")
    if tag and tag != f"v{version}":
        found.append(f"the tag is {tag}, and the version {version}: it must be v{version}")
    return found


def supported(project: Mapping[str, Any]) -> list[str]:
    """The versions of Python that a project supports, oldest first."""
    prefix = "Programming Language :: Python :: 3."
    minors = [classifier.removeprefix(prefix) for classifier in project["classifiers"] if classifier.startswith(prefix)]
    return [f"3.{minor}" for minor in sorted(map(int, minors))]


def user_extras(project: Mapping[str, Any]) -> tuple[str, ...]:
    """The extras that users install."""
    return tuple(sorted(project["optional-dependencies"].keys() - NOT_FOR_USERS))


def _archive_problems(found: list[Path], project: Mapping[str, Any], package: str) -> list[str]:
    wrong: list[str] = []
    for path in found:
        archive = archives.read_archive(path)
        print(f"{archive.name}: {archive.size:,} bytes, {len(archive.files):,} files")
        wrong += [f"{archive.name}: {problem}" for problem in archives.problems(archive, project, package)]
    return wrong


def _licence_problems(
    found: tuple[installs.Archives, installs.Archives], project: Mapping[str, Any], folder: Path
) -> list[str]:
    """Check the licences of all dependencies, with all extras, and write the SBOM."""
    wheels, sdists = found
    name, extras = project["name"], user_extras(project)
    listed = installs.inventory(wheels, Path(sys.executable), extras)
    installed = {distribution.name: distribution for distribution in map(licences.Distribution.from_json, listed)}
    brought = licences.closure(name, extras, installed).values()
    print(f"Licences of what {name}[{','.join(extras)}] brings:", *licences.table(brought), sep="\n")
    paths = [wheels.library, wheels.server, sdists.library, sdists.server]
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    path = folder / f"{name}-{project['version']}.cdx.json"
    path.write_text(sbom.to_text(sbom.bom(name, extras, installed, hashes)), encoding="utf-8")
    print(f"{path}: {len(brought)} components")
    return licences.refused(brought)


def _install_problems(
    found: tuple[installs.Archives, installs.Archives], project: Mapping[str, Any], required: list[str]
) -> list[str]:
    minors = supported(project)
    at_hand = pythons.find(minors)
    print("Pythons at hand:", ", ".join(map(str, at_hand.values())) or "none")
    absent = [minor for minor in minors if minor not in at_hand]
    if absent:
        print(f"Not at hand, so not tried: {', '.join(absent)}")
    wrong = [f"Python {version} is not at hand" for version in required if version not in at_hand]
    if not at_hand:
        wrong.append("there is no Python at hand that is supported")
    for interpreter in at_hand.values():
        for pair in found:
            title = f"Python {interpreter.minor}, {pair.library.name} and {pair.server.name}"
            try:
                installs.use(pair, interpreter.path)
                print(f"{title}: installed and used", flush=True)
            except installs.InstallError as error:
                wrong.append(f"{title}: {error}")
    return wrong


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder of the archives; the SBOM is written there")
    parser.add_argument(
        "--pythons",
        type=lambda text: [part for part in text.split(",") if part],
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
