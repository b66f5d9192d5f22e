"""The data of ConfigMaps and Secrets: literals, files, folders and files of environment variables."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._cli.creating import refuse
from masthead._cli.go_json import encode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from masthead._meta.plain import Plain

__all__ = ["read_keys", "suffix_of"]

_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_MAX_KEY: Final = 253
_VARIABLE: Final = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_BOM: Final = b"\xef\xbb\xbf"
_CONSONANTS: Final = str.maketrans("013ae", "ghkmt")
"""Without vowels, the digits form no words."""
_HASH_LENGTH: Final = 10


def read_keys(
    literals: Sequence[str], files: Sequence[str], env_files: Sequence[str], environ: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """Read all data that options name.

    Args:
        literals: ``KEY=VALUE``.
        files: ``[KEY=]FILE``, or a folder.
        env_files: Files of lines ``KEY=VALUE``.
        environ: Where lines without a value get it; the environment of the process by default.

    Raises:
        CommandError: If a source cannot be read, or a key is invalid or exists already.
    """
    if env_files and (literals or files):
        raise refuse("--from-env-file excludes --from-file and --from-literal")
    found: dict[str, bytes] = {}
    for key, value in _read_all(literals, files, env_files, os.environ if environ is None else environ):
        if problem := _problem_with_key(key):
            raise refuse(f"{key!r} is no key: {problem}")
        if key in found:
            raise refuse(f"there are two values for the key {key!r}")
        found[key] = value
    return found


def _read_all(
    literals: Sequence[str], files: Sequence[str], env_files: Sequence[str], environ: Mapping[str, str]
) -> Iterator[tuple[str, bytes]]:
    for literal in literals:
        key, equals, value = literal.partition("=")
        if not key or not equals:
            raise refuse(f"--from-literal: {literal!r} is not KEY=VALUE")
        yield key, value.encode("utf-8", "surrogateescape")
    for source in files:
        yield from _read_file(source)
    for file in env_files:
        yield from _read_env_file(file, environ)


def _read_file(source: str) -> Iterator[tuple[str, bytes]]:
    key, equals, name = source.partition("=")
    # The name of the file is the key.
    if not equals:
        key, name = Path(source).name, source
    if not key or not name or "=" in name:
        raise refuse(f"--from-file: {source!r} is neither FILE nor KEY=FILE")
    path = Path(name)
    try:
        if not path.is_dir():
            yield key, path.read_bytes()
            return
        if equals:
            raise refuse(f"--from-file: {name} is a folder, whose files have keys of their own")
        # Links are left out, as kubectl does: those of mounted ConfigMaps would double each file.
        for child in sorted(path.iterdir()):
            if stat.S_ISREG(child.lstat().st_mode):
                yield child.name, child.read_bytes()
    except OSError as error:
        raise refuse(f"--from-file: {error.filename or name} cannot be read: {error.strerror}") from None


def _read_env_file(name: str, environ: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    try:
        lines = Path(name).read_bytes().removeprefix(_BOM).split(b"\n")
    except OSError as error:
        raise refuse(f"--from-env-file: {name} cannot be read: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode("utf-8").removesuffix("\r").lstrip()
        except UnicodeDecodeError:
            raise refuse(f"--from-env-file: {name}, line {number} is not text in UTF-8") from None
        # Empty lines and comments.
        if not text or text.startswith("#"):
            continue
        key, equals, value = text.partition("=")
        if not _VARIABLE.fullmatch(key):
            raise refuse(f"--from-env-file: {name}, line {number}: {key!r} is not the name of a variable")
        yield key, (value if equals else environ.get(key, "")).encode("utf-8", "surrogateescape")


def _problem_with_key(key: str) -> str:
    if len(key) > _MAX_KEY:
        return f"it has more than {_MAX_KEY} characters"
    if not _KEY.fullmatch(key):
        return "it may have letters, digits, '-', '_' and '.'"
    return "it would lead out of its folder" if key == "." or key.startswith("..") else ""


def suffix_of(obj: Plain) -> str:
    """The hash of a ConfigMap or Secret that ``--append-hash`` appends to its name."""
    # As many bytes as kustomize and kubectl examine.
    hashed = {"kind": obj["kind"], "name": obj["metadata"]["name"], "data": obj.get("data", {})}
    hashed |= {"type": obj.get("type", "")} if obj["kind"] == "Secret" else {}
    hashed |= {"binaryData": obj["binaryData"]} if obj.get("binaryData") else {}
    return hashlib.sha256(encode(hashed, sorts=True).encode()).hexdigest()[:_HASH_LENGTH].translate(_CONSONANTS)
