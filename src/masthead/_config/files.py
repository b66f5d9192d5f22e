"""Lookup and reading of kubeconfig files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._config.kubeconfig import Kubeconfig, merge, parse
from masthead._config.yaml_node import YamlSource
from masthead._meta.secret import SecretValue
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["MAX_SIZE", "expand", "find", "listed_in", "read_content", "read_file", "read_files"]

MAX_SIZE: Final = 16 * 1024 * 1024
"""The maximum size of a kubeconfig in bytes: enough for two thousand clusters with certificates."""


def find(environ: Mapping[str, str], home: Path | None) -> list[Path]:
    """Return the candidate files: those of ``KUBECONFIG``, else ``~/.kube/config``.

    Args:
        environ: The environment.
        home: The home directory; None if unknown.
    """
    if listed := listed_in(environ):
        # A file that is listed twice would duplicate its own entries.
        return list(dict.fromkeys(expand(entry, home) for entry in listed))
    return [home / ".kube" / "config"] if home is not None else []


def listed_in(environ: Mapping[str, str]) -> list[str]:
    """Split ``KUBECONFIG`` into paths; blank entries are skipped."""
    entries = environ.get("KUBECONFIG", "").split(os.pathsep)
    return [entry.strip() for entry in entries if entry.strip()]


def expand(path: str | os.PathLike[str], home: Path | None) -> Path:
    """Convert to a path, with a leading tilde expanded to the home directory."""
    written = Path(path)
    return home.joinpath(*written.parts[1:]) if home is not None and written.parts[:1] == ("~",) else written


def read_files(paths: Sequence[Path]) -> tuple[Kubeconfig, dict[Path, str]]:
    """Read and merge the files that exist; return with the result why others were skipped.

    Raises:
        ConfigError: If files cannot be read or are not kubeconfigs; the message names each of them.
    """
    found: list[Kubeconfig] = []
    unfit: dict[Path, str] = {}
    broken: list[str] = []
    for path in paths:
        try:
            kubeconfig = read_file(path)
        except FileNotFoundError:
            # KUBECONFIG may list files that do not exist; kubectl skips them, too.
            unfit[path] = "does not exist"
        except ConfigError as error:
            broken.append(str(error))
        else:
            found.append(kubeconfig)
            if not kubeconfig:
                unfit[path] = "names no cluster, user or context"
    # All broken files in one error, so that one run shows every problem.
    if broken:
        raise ConfigError("\n".join(broken))
    return merge(found), unfit


def read_file(path: Path) -> Kubeconfig:
    """Read one kubeconfig file.

    Raises:
        FileNotFoundError: If it does not exist.
        ConfigError: If it cannot be read or is not a kubeconfig.
    """
    return parse(read_content(path), YamlSource(str(path), file=path, folder=path.absolute().parent))


def read_content(path: Path) -> SecretValue[bytes]:
    """Read a file of at most `MAX_SIZE` bytes.

    Raises:
        FileNotFoundError: If it does not exist.
        ConfigError: If it cannot be read, or is too large.
    """
    try:
        with path.open("rb") as file:
            # One byte more than is allowed tells that a file is too large, whatever its size.
            content = SecretValue(file.read(MAX_SIZE + 1))
    except FileNotFoundError:
        raise
    except IsADirectoryError:
        raise ConfigError(f"{path}: is a directory; name a kubeconfig file in it") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no file can have such a name"
        raise ConfigError(f"{path}: cannot be read: {reason}") from None
    if len(content.reveal()) > MAX_SIZE:
        raise ConfigError(f"{path}: is not a kubeconfig: it is larger than {MAX_SIZE // 2**20} MiB")
    return content
