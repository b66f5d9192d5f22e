"""The kubeconfig files that ``config`` shows and changes: found, merged and written as kubectl does."""

from __future__ import annotations

import copy
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from masthead._cli.kubeconfig_fields import ENTRY_KEYS, Section, new_entry
from masthead._meta.plain import entries, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._meta.plain import Plain

__all__ = ["Entry", "KubeconfigFiles", "MergedKubeconfig", "Section", "change_entry", "remove_entry"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A cluster, user or context.

    Attributes:
        content: Its fields.
        path: The file that it is in.
    """

    content: Plain
    path: Path


@dataclass(frozen=True, slots=True)
class MergedKubeconfig:
    """Several files as one: of each entry, the first definition counts.

    Attributes:
        sections: The entries, by section and name.
        current_context: The current context; empty for none.
        documents: The files as they are, in order of precedence.
    """

    sections: Mapping[Section, Mapping[str, Entry]]
    current_context: str
    documents: Mapping[Path, Plain]

    def entries(self, section: Section) -> Mapping[str, Entry]:
        """Return the entries of a section, by name."""
        return self.sections[section]


@dataclass(frozen=True, slots=True)
class KubeconfigFiles:
    """The files, in order of precedence.

    Attributes:
        paths: Their paths; some may not exist.
        is_explicit: Whether ``--kubeconfig`` names the only one.
    """

    paths: tuple[Path, ...]
    is_explicit: bool = field(default=False)

    @classmethod
    def of(cls, kubeconfig: str | None) -> KubeconfigFiles:
        """Find the files: of the option, else of ``KUBECONFIG``, else ``~/.kube/config``.

        Args:
            kubeconfig: The value of ``--kubeconfig``.
        """
        from masthead._config.files import expand, find

        home = Path.home()
        if kubeconfig:
            return cls((expand(kubeconfig, home),), is_explicit=True)
        return cls(tuple(find(os.environ, home)))

    @property
    def default(self) -> Path:
        """The file of new entries and of the current context: the first that exists, else the last."""
        return next((path for path in self.paths if path.exists()), self.paths[-1])

    def load(self) -> MergedKubeconfig:
        """Read and merge the files; missing files are skipped.

        Raises:
            ConfigError: If one cannot be read or is no kubeconfig.
        """
        documents = {path: document for path in self.paths if (document := _read(path)) is not None}
        sections: dict[Section, dict[str, Entry]] = {"clusters": {}, "users": {}, "contexts": {}}
        for path, document in documents.items():
            for section, key in ENTRY_KEYS.items():
                for named in entries(document, section):
                    sections[section].setdefault(text(named, "name"), Entry(part(named, key), path))
        currents = (text(document, "current-context") for document in documents.values())
        return MergedKubeconfig(sections, next(filter(None, currents), ""), documents)

    def set_current_context(self, name: str) -> None:
        """Write the current context.

        Raises:
            ConfigError: If the file cannot be written.
        """

        def change(document: Plain) -> None:
            document["current-context"] = name

        self.change(self.default, change)

    def change(self, path: Path, edit: Callable[[Plain], None]) -> None:
        """Change a file, or create it. It is locked as kubectl locks it, and replaced as a whole; comments are lost.

        Args:
            path: The file.
            edit: Changes the document in place.

        Raises:
            ConfigError: If the file cannot be read or written, stays locked, or would be no kubeconfig any more.
        """
        from masthead._cli.go_yaml import dump
        from masthead._config.file_replacement import hold_lock, replace_content
        from masthead._config.kubeconfig import parse
        from masthead._config.yaml_node import YamlSource
        from masthead._meta.secret import Secret

        # Replace the target of a symlink, not the link.
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(target, threading.Event().wait, what="the change"):
            document = _read(target) or {}
            before = copy.deepcopy(document)
            edit(document)
            # As in kubectl: comments are not lost for nothing.
            if document == before:
                return
            changed = _complete(document)
            # A mistake of ours or of the user's must not destroy a file that works.
            parse(changed, YamlSource(str(path), file=target))
            replace_content(target, Secret(dump(changed)))


def _read(path: Path) -> Plain | None:
    """Read a file; return None if it does not exist.

    Raises:
        ConfigError: If it cannot be read or is no kubeconfig.
    """
    from masthead._config.files import read_content
    from masthead._config.kubeconfig import parse, read_document
    from masthead._config.yaml_node import YamlSource

    source = YamlSource(str(path), file=path, folder=path.absolute().parent)
    try:
        content = read_content(path)
    except FileNotFoundError:
        return None
    parse(content, source)  # validates, so that the types are certain
    return cast("Plain", read_document(content, source).reveal() or {})


def _complete(document: Plain) -> Plain:
    """Return a document with what kubectl always writes, and with its entries by name."""
    lists = {
        section: sorted(entries(document, section), key=lambda named: text(named, "name")) for section in ENTRY_KEYS
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "",
        **document,
        **{section: found or None for section, found in lists.items()},
    }


def change_entry(section: Section, name: str, edit: Callable[[Plain], None]) -> Callable[[Plain], None]:
    """Return the change of a document that edits an entry, which is created if it is missing."""
    key = ENTRY_KEYS[section]

    def change(document: Plain) -> None:
        found = entries(document, section)
        named = next((entry for entry in found if text(entry, "name") == name), None)
        if named is None:
            named = {"name": name, key: new_entry(section)}
            document[section] = [*found, named]
        content = dict(part(named, key))
        edit(content)
        # Fields that kubectl always writes are empty once they are removed.
        named[key] = new_entry(section) | content

    return change


def remove_entry(section: Section, name: str) -> Callable[[Plain], None]:
    """Return the change of a document that removes an entry."""

    def change(document: Plain) -> None:
        document[section] = [entry for entry in entries(document, section) if text(entry, "name") != name]

    return change
