"""Reading plain data strictly: each value knows where it stands, so that an error can say so.

Unknown fields are none of our business. A known one of the wrong shape is an error, whose message never repeats the
value: it may be a secret in the wrong place.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from masthead._meta.secret import Secret, SecretValue
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["YamlNode", "YamlSource"]

_SHAPES: Final[Mapping[type[object], str]] = {
    type(None): "nothing",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a map",
}


@dataclass(frozen=True, slots=True)
class YamlSource:
    """Where data was read.

    Attributes:
        name: What messages call it.
        file: The file; None for what was held in memory.
        folder: Where relative paths begin; None for the current folder.
    """

    name: str
    file: Path | None = None
    folder: Path | None = None

    def resolve(self, path: str) -> Path:
        """Make a path of a text that stands in this source."""
        return Path(path) if self.folder is None else self.folder / path


@dataclass(frozen=True, slots=True)
class YamlNode:
    """A value and where it stands.

    Attributes:
        held: Plain data, as YAML gives it; None where there is nothing. Wrapped, because it may be a secret or hold one.
        source: Where it was read.
        path: Where in there, such as ``users[1].user.exec``.
    """

    held: SecretValue[object]
    source: YamlSource
    path: str = ""

    @property
    def value(self) -> object:
        """The data; do not give it a name where an error is raised."""
        return self.held.reveal()

    def error(self, problem: str) -> ConfigError:
        """The error to raise, with the place before the problem."""
        return ConfigError(": ".join(part for part in (self.source.name, self.path, problem) if part))

    def at(self, key: str) -> YamlNode:
        """A field of a map.

        Raises:
            ConfigError: If this is no map.
        """
        held = SecretValue(self._fields().get(key))
        return YamlNode(held, self.source, f"{self.path}.{key}" if self.path else key)

    def items(self) -> list[YamlNode]:
        """The items of a list; nothing is an empty list.

        Raises:
            ConfigError: If this is something else.
        """
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            raise self._wrong("a list")
        listed = cast("SecretValue[list[object]]", self.held)
        return [
            YamlNode(SecretValue(each), self.source, f"{self.path}[{index}]")
            for index, each in enumerate(listed.reveal())
        ]

    def entries(self) -> dict[str, YamlNode]:
        """The fields of a map; nothing is an empty map.

        Raises:
            ConfigError: If this is something else.
        """
        return {key: self.at(key) for key in self._fields()}

    def text(self) -> str:
        """A text; nothing is the empty one.

        Raises:
            ConfigError: If this is something else.
        """
        if self.value is None:
            return ""
        if not isinstance(self.value, str):
            raise self._wrong("text", "; put it in quotes")
        return self.value

    def name(self) -> str:
        """A text that must not be empty.

        Raises:
            ConfigError: If it is, or is no text.
        """
        found = self.text()
        if not found:
            raise self.error("is missing")
        return found

    def flag(self) -> bool:
        """True or false; nothing is false.

        Raises:
            ConfigError: If this is something else.
        """
        if self.value is None:
            return False
        if not isinstance(self.value, bool):
            raise self._wrong("true or false", ", without quotes")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """A list of texts; nothing is an empty one.

        Raises:
            ConfigError: If this is something else.
        """
        return tuple(each.text() for each in self.items())

    def file(self) -> Path | None:
        """The path of a file, relative to where it was read; None for nothing.

        Raises:
            ConfigError: If this is no text.
        """
        found = self.text()
        return self.source.resolve(found) if found else None

    def decoded(self) -> str:
        """The text that stands here in base64.

        Raises:
            ConfigError: If this is no text, not base64, or not text once decoded.
        """
        packed = Secret("".join(self.text().split()))
        try:
            return base64.b64decode(packed.reveal().encode(), validate=True).decode()
        except UnicodeDecodeError:
            problem = "is base64 of something that is not text; PEM is expected"
        except ValueError:
            problem = "is not base64; it must hold the PEM file's content, encoded"
        raise self.error(problem)  # here, because Python's error holds the content

    def _fields(self) -> Mapping[str, object]:
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            raise self._wrong("a map")
        return cast("SecretValue[dict[str, object]]", self.held).reveal()

    def _wrong(self, wanted: str, advice: str = "") -> ConfigError:
        shape = _SHAPES.get(type(self.value), f"a Python {type(self.value).__name__}")
        return self.error(f"must be {wanted}, and is {shape}{advice}")
