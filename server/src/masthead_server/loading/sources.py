"""The objects in the files of a dump."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead._meta import yaml
from masthead.errors import ConfigError, DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from masthead_server.wire.plain import Plain

__all__ = ["DumpedObject", "find_files", "read_objects"]

_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_LIST: Final = "List"
_GZIP: Final = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class DumpedObject:
    """An object of a dump.

    Attributes:
        place: File and number of the document, for messages.
        content: The object, with kind and apiVersion.
    """

    place: str
    content: Plain

    @property
    def title(self) -> str:
        """Kind, namespace and name, for messages."""
        meta = self.content.get("metadata")
        fields = cast("Plain", meta) if isinstance(meta, dict) else {}
        names = [str(fields[field]) for field in ("namespace", "name") if fields.get(field)]
        return f"{self.content.get('kind')} {'/'.join(names) or 'without a name'}"

    def fail(self, problem: object) -> ConfigError:
        """Return the error about this object."""
        return ConfigError(f"cannot load {self.place}, {self.title}: {problem}")


def find_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the YAML and JSON files of folders in the order of their names, and files as they are.

    Raises:
        ConfigError: If a path does not exist, or a folder has no such files.
    """
    for path in paths:
        if not _is_folder(path):
            if not path.exists():
                raise ConfigError(f"cannot load {path}: there is no such file or folder")
            # Each file is read twice, and devices never end.
            if not path.is_file():
                raise ConfigError(f"cannot load {path}: it is neither a file nor a folder. Write its content to a file")
            yield path
            continue
        files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not files:
            raise ConfigError(f"cannot load {path}: the folder has no .yaml, .yml or .json files")
        yield from files


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError as error:  # the name is too long
        raise ConfigError(f"cannot load {path}: {error.strerror}") from None


def read_objects(file: Path) -> Iterator[DumpedObject]:
    """Yield the objects of a file; the items of lists, one by one.

    Raises:
        ConfigError: If the file cannot be read, is compressed, or has a document that is no object.
    """
    try:
        documents = _parse(file)
    except OSError as error:
        raise ConfigError(f"cannot load {file}: {error.strerror}") from None
    except (DecodeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"cannot load {file}: {error}") from None
    for number, document in enumerate(documents, 1):
        # A separator at the end of a file makes an empty document.
        if document is not None:
            yield from _expand(document, f"{file}, document {number}")


def _parse(file: Path) -> list[object]:
    text = file.read_bytes()
    if text.startswith(_GZIP):
        raise ConfigError(f"cannot load {file}: it is compressed. Unpack it first")
    if file.suffix == ".json":
        return [msgspec.json.decode(text)]
    return yaml.load_all(text, keep_empty=True)


def _expand(document: object, place: str) -> Iterator[DumpedObject]:
    if not isinstance(document, dict):
        raise ConfigError(f"cannot load {place}: it is no object, but {type(document).__name__}")
    found = cast("Plain", document)
    kind, version = found.get("kind"), found.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(version, str) or not kind or not version:
        raise ConfigError(f"cannot load {place}: it has no kind or apiVersion")
    listed = found.get("items")
    if not kind.endswith(_LIST) or "items" not in found:
        yield DumpedObject(place, found)
        return
    # Go writes the list of no objects as null.
    if listed is not None and not isinstance(listed, list):
        raise ConfigError(f"cannot load {place}: the items of the {kind} are no list")
    # The items of typed lists, as `cluster-info dump` writes them, do not repeat their kind.
    typed = {} if kind == _LIST else {"kind": kind.removesuffix(_LIST), "apiVersion": version}
    for index, item in enumerate(cast("list[object]", listed or [])):
        where = f"{place}, item {index}"
        content: object = {**typed, **cast("Plain", item)} if isinstance(item, dict) else item
        yield from _expand(content, where)
