"""The contents and the metadata of the wheel and the sdist."""

from __future__ import annotations

import dataclasses
import tarfile
import zipfile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from packaging.metadata import InvalidMetadata, Metadata
from packaging.version import Version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MAX_BYTES: Final = {".whl": 4_000_000, ".gz": 8_000_000}
"""The maximum size of an archive. Generated types are most of it; a file that doubles it is a mistake."""
_IN_SDIST: Final = ("LICENSE", "README.md", "pyproject.toml")
_CLUTTER: Final = (".pyc", ".orig", ".rej", ".swp", ".DS_Store")


@dataclasses.dataclass(frozen=True)
class Archive:
    """A wheel or an sdist.

    Attributes:
        name: Of the file.
        size: In bytes.
        files: The paths in it; those of an sdist without its folder.
        metadata: The text of its core metadata.
    """

    name: str
    size: int
    files: frozenset[str]
    metadata: bytes

    @property
    def is_wheel(self) -> bool:
        """Whether it is a wheel."""
        return self.name.endswith(".whl")


def read_archive(path: Path) -> Archive:
    """Read an archive.

    Raises:
        ValueError: If it has no metadata.
        OSError: If it cannot be read.
    """
    files = _wheel_files(path) if path.suffix == ".whl" else _sdist_files(path)
    found = [name for name in files if name == "PKG-INFO" or name.endswith(".dist-info/METADATA")]
    if len(found) != 1:
        raise ValueError(f"{path.name} has no metadata")
    return Archive(path.name, path.stat().st_size, frozenset(files), files[found[0]])


def problems(archive: Archive, project: Mapping[str, Any], package: str) -> list[str]:
    """Return the problems of an archive.

    Args:
        archive: The archive.
        project: The project table of its pyproject.toml.
        package: Its import package.
    """
    return [*_content_problems(archive, package), *_metadata_problems(archive, project)]


def _content_problems(archive: Archive, package: str) -> Iterator[str]:
    limit = MAX_BYTES[PurePosixPath(archive.name).suffix]
    if archive.size > limit:
        yield f"{archive.size:,} bytes are more than {limit:,}"
    for name in sorted(archive.files):
        if name.endswith(_CLUTTER) or "__pycache__" in name:
            yield f"{name} does not belong into an archive"
    if archive.is_wheel:
        yield from _wheel_problems(archive, package)
    else:
        needed = (*_IN_SDIST, f"src/{package}/py.typed")
        yield from (f"{name} is missing" for name in needed if name not in archive.files)


def _wheel_problems(archive: Archive, package: str) -> Iterator[str]:
    marker = f"{package}/py.typed"
    if marker not in archive.files:
        yield f"{marker} is missing: type checkers would see no types"
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in archive.files):
        yield "LICENSE is missing"
    tops = {PurePosixPath(name).parts[0] for name in archive.files}
    for top in sorted(tops):
        if top != package and not top.endswith(".dist-info"):
            yield f"{top} does not belong into the wheel"
    if not archive.name.endswith("-py3-none-any.whl"):
        yield "it is not a pure wheel for every platform"


def _metadata_problems(archive: Archive, project: Mapping[str, Any]) -> Iterator[str]:
    try:
        found = Metadata.from_email(archive.metadata, validate=True)
    except (ExceptionGroup, InvalidMetadata) as error:
        causes = error.exceptions if isinstance(error, ExceptionGroup) else (error,)
        yield from (f"metadata: {cause}" for cause in causes)
        return
    expected = {
        "name": project["name"],
        "version": Version(project["version"]),
        "summary": project["description"],
        "license_expression": project["license"],
        "classifiers": project["classifiers"],
        "description_content_type": "text/markdown",
    }
    for field, value in expected.items():
        if getattr(found, field) != value:
            yield f"metadata: {field} is {getattr(found, field)!r}, and pyproject.toml says {value!r}"
    if str(found.requires_python) != project["requires-python"]:
        yield f"metadata: requires_python is {found.requires_python}"
    if not (found.description or "").strip():
        yield "metadata: there is no description"
    extras = sorted(project["optional-dependencies"])
    if sorted(found.provides_extra or ()) != extras:
        yield f"metadata: the extras are {found.provides_extra}, and pyproject.toml has {extras}"


def _wheel_files(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        broken = archive.testzip()
        if broken is not None:
            raise ValueError(f"{path.name}: {broken} is damaged")
        return {name: archive.read(name) if name.endswith("/METADATA") else b"" for name in archive.namelist()}


def _sdist_files(path: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            if member.isfile():
                content = archive.extractfile(member) if name == "PKG-INFO" else None
                files[name] = content.read() if content is not None else b""
    return files
