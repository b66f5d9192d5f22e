"""Strict access to parsed YAML: each value knows its path, so that errors can name it.

Unknown fields are ignored. A known field of the wrong type is an error; the message never repeats the value, which may
be a misplaced secret.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from masthead._meta.secret import Secret, SecretValue
from masthead._value import Value
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


class YamlSource(Value):
    """The origin of parsed data.

    Attributes:
        name: Its name in messages.
        file: The file; None for data in memory.
        folder: The base of relative paths; None for the current directory.
    """

    name: str
    file: Path | None = None
    folder: Path | None = None

    def resolve(self, path: str) -> Path:
        """Resolve a path relative to this source."""
        return Path(path) if self.folder is None else self.folder / path


class YamlNode(Value):
    """A value of a YAML document and its path.

    Attributes:
        held: The parsed value; None if absent. Wrapped, because it may be or contain a secret.
        source: The origin of the document.
        path: The path in the document, such as ``users[1].user.exec``.
    """

    held: SecretValue[object]
    source: YamlSource
    path: str = ""

    @property
    def value(self) -> object:
        """The parsed value; do not bind it to a variable in a frame that raises."""
        return self.held.reveal()

    def error(self, problem: str) -> ConfigError:
        """Create an error that names source and path."""
        return ConfigError(": ".join(part for part in (self.source.name, self.path, problem) if part))

    def at(self, key: str) -> YamlNode:
        """Return a field of a map.

        Raises:
            ConfigError: If this is not a map.
        """
        held = SecretValue(self._fields().get(key))
        return YamlNode(held, self.source, f"{self.path}.{key}" if self.path else key)

    def items(self) -> list[YamlNode]:
        """Return the items of a list; empty if absent.

        Raises:
            ConfigError: If the value has another type.
        """
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            raise self._wrong("a list")
        listed = cast("SecretValue[list[object]]", self.held)
        return [
            YamlNode(SecretValue(item), self.source, f"{self.path}[{index}]")
            for index, item in enumerate(listed.reveal())
        ]

    def entries(self) -> dict[str, YamlNode]:
        """Return the fields of a map; empty if absent.

        Raises:
            ConfigError: If the value has another type.
        """
        return {key: self.at(key) for key in self._fields()}

    def text(self) -> str:
        """Return a string; empty if absent.

        Raises:
            ConfigError: If the value has another type.
        """
        if self.value is None:
            return ""
        if not isinstance(self.value, str):
            # YAML reads 123 as a number and "no" as a boolean.
            raise self._wrong("text", "; put it in quotes")
        return self.value

    def name(self) -> str:
        """Return a string that must not be empty.

        Raises:
            ConfigError: If it is empty or not a string.
        """
        found = self.text()
        if not found:
            raise self.error("is missing")
        return found

    def flag(self) -> bool:
        """Return a boolean; false if absent.

        Raises:
            ConfigError: If the value has another type.
        """
        if self.value is None:
            return False
        if not isinstance(self.value, bool):
            raise self._wrong("true or false", ", without quotes")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """Return a list of strings; empty if absent.

        Raises:
            ConfigError: If the value has another type.
        """
        return tuple(item.text() for item in self.items())

    def file(self) -> Path | None:
        """Return a path, resolved relative to the source; None if absent.

        Raises:
            ConfigError: If this is not a string.
        """
        found = self.text()
        return self.source.resolve(found) if found else None

    def decode_base64(self) -> str:
        """Decode a base64 string to text.

        Raises:
            ConfigError: If this is not a string, not base64, or not UTF-8 once decoded.
        """
        # Editors and tools wrap long base64 values.
        packed = Secret("".join(self.text().split()))
        try:
            return base64.b64decode(packed.reveal().encode(), validate=True).decode()
        except UnicodeDecodeError:
            problem = "is base64 of something that is not text; PEM is expected"
        except ValueError:
            problem = "is not base64; it must hold the PEM file's content, encoded"
        raise self.error(problem)  # raised outside of the handler, because Python's error contains the content

    def _fields(self) -> Mapping[str, object]:
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            raise self._wrong("a map")
        return cast("SecretValue[dict[str, object]]", self.held).reveal()

    def _wrong(self, wanted: str, advice: str = "") -> ConfigError:
        shape = _SHAPES.get(type(self.value), f"a Python {type(self.value).__name__}")
        return self.error(f"must be {wanted}, and is {shape}{advice}")
