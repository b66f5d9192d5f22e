"""A new operator project: small, typed, and with tests that pass."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from masthead._customresource.names import plural_of
from masthead._meta import names
from masthead._scaffold.image import DOCKERFILE
from masthead._version import __version__
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

__all__ = ["Project"]

_TEMPLATES: Final = "templates"
_SUFFIX: Final = ".tmpl"
_PLACE: Final = re.compile(r"@([A-Z]+)@")
_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_ROLES: Final = ("-operator", "-controller")
_RENAMED: Final = {"gitignore": ".gitignore"}
"""Files whose names would affect tools that process the templates."""


@dataclass(frozen=True, slots=True)
class Project:
    """A new operator project.

    Attributes:
        name: The name of the operator, such as ``website-operator``.
        kind: The kind of its custom resource, such as ``Website``.
        group: The API group of the kind.

    Raises:
        ConfigError: If a name is invalid.
    """

    name: str
    kind: str
    group: str

    def __post_init__(self) -> None:
        problem = names.problem_with_dns1123_label(self.name)
        # A DNS label may begin with a digit, a Python package may not.
        if problem is None and self.name[0].isdigit():
            problem = "must begin with a letter"
        if problem is None and (keyword.iskeyword(self.package) or self.package in _taken()):
            problem = "is the name of something else in Python; add -operator to it"
        if problem:
            raise ConfigError(f"the name {names.quote(self.name)} {problem}")
        if not _KIND.fullmatch(self.kind):
            raise ConfigError(f"the kind {self.kind!r} must be letters and digits, such as Website")
        if (problem := names.problem_with_dns1123_subdomain(self.group)) or "." not in self.group:
            raise ConfigError(
                f"the group {names.quote(self.group)} {problem or 'must be a domain'}, such as example.com"
            )

    @classmethod
    def named(cls, name: str, kind: str = "", group: str = "") -> Project:
        """Create a project. By default, its kind is named after it.

        Raises:
            ConfigError: If a name is invalid.
        """
        return cls(name, kind or _kind_of(name), group or "example.com")

    @property
    def package(self) -> str:
        """The name of its Python package."""
        return self.name.replace("-", "_")

    def files(self) -> dict[str, str]:
        """Return the text of all files by path."""
        values = {
            "NAME": self.name,
            "PACKAGE": self.package,
            "KIND": self.kind,
            "GROUP": self.group,
            "PLURAL": plural_of(self.kind.lower()),
            "VERSION": __version__,
        }
        found = {"Dockerfile": DOCKERFILE}
        for path, text in _templates():
            # The suffix keeps linters and test runners away from the templates.
            where = path.removesuffix(_SUFFIX).replace("PACKAGE", self.package)
            found[_RENAMED.get(where, where)] = _PLACE.sub(lambda match: values[match[1]], text)
        return dict(sorted(found.items()))


def _taken() -> frozenset[str]:
    return sys.stdlib_module_names | {"masthead", "tests"}


def _kind_of(name: str) -> str:
    # A kind is named after the object, not after its operator.
    for role in _ROLES:
        name = name.removesuffix(role)
    return "".join(part.capitalize() for part in name.split("-"))


def _templates() -> Iterator[tuple[str, str]]:
    folder = resources.files("masthead._scaffold").joinpath(_TEMPLATES)
    yield from _files_in(folder, PurePosixPath())


def _files_in(folder: Traversable, path: PurePosixPath) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files_in(entry, path / entry.name)
        # Editors and Python leave other files, such as compiled ones.
        elif entry.name.endswith(_SUFFIX):
            yield str(path / entry.name), entry.read_text("utf-8")
