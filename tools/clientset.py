"""``python -m tools.clientset``: the clientset and the groups of an informer factory, async and blocking.

Each group and version has a separate module, which is imported when the group is first used.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from masthead._codegen import render
from masthead._codegen.layout import Brackets, lay_out, quoted, text
from masthead.errors import GenerateError, MastheadError
from tools import files, informers, releases
from tools.groups import REVIEWS, groups_of
from tools.headers import first_line
from tools.layout import NARROWS, Root, attribute, import_of, indented, render_root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.groups import GroupDef, Method

__all__ = ["FOLDERS", "from_folders", "main", "render_clientset", "render_group"]

FOLDERS: Final = ("aio/clientset", "clientset", *informers.FOLDERS)
"""The folders of the groups, async and blocking. Their ``__init__.py`` is written by `tools.exports`."""
_ROOT: Final = Root(
    name="Clientset",
    title="The groups of the clientset",
    about="The resources of",
    package="masthead.aio.clientset",
    blocking_package="masthead.clientset",
    home="masthead._client.clientset",
    blocking_base=("Facade[AsyncClientset]", "masthead._sync.facade"),
    argument=("context", "ClientContext", "masthead._client.base"),
)
_HOMES: Final[Mapping[str, str]] = {
    "Group": "group",
    "ClusterResource": "scoped",
    "ClusterReviews": "scoped",
    "NamespacedResource": "scoped",
    "NamespacedReviews": "scoped",
    "StatusVerbs": "subresources",
    "ScaleVerbs": "subresources",
    "RestartVerbs": "restarts",
    "LogVerbs": "log_verbs",
    "ProxyVerbs": "proxy_verbs",
    "CopyVerbs": "copy_verbs",
    "AttachVerbs": "stream_verbs",
    "PortForwardVerbs": "port_forward_verbs",
}
"""The module of each base, in `masthead._client` and in `masthead._sync` alike."""
_ACTIONS: Final = "actions"


def render_clientset(groups: Sequence[GroupDef], *, is_blocking: bool = False) -> str:
    """Write the module of the clientset."""
    return render_root(_ROOT, [(group, group.name) for group in groups], is_blocking=is_blocking)


def render_group(group: GroupDef, *, is_blocking: bool = False) -> str:
    """Write the module of a group: a class for each resource with special verbs, and the group's class.

    Raises:
        GenerateError: If two classes would have the same name.
    """
    kinds = {method.returns: method for method in group.methods if len(method.bases) > 1}
    names = [*sorted(kinds), group.name]
    used = {base for method in group.methods for base in method.bases}
    if twice := [name for name, count in Counter([*names, *used, "Group"]).items() if count > 1]:
        raise GenerateError(f"{group.served} would have several classes called {', '.join(twice)}")
    lines = [
        first_line(f"The resources of {group.served}"),
        "",
        *([*NARROWS, ""] if is_blocking else []),
        *_imports(group, used, names, is_blocking=is_blocking),
        "",
        *lay_out("__all__ = ", Brackets("[", quoted(sorted(names)), "]", is_call=False)),
        *(["", 'T = TypeVar("T", bound=Object)'] if kinds else []),
    ]
    for name in sorted(kinds):
        lines += ["", "", *_kind_class(kinds[name], is_blocking=is_blocking)]
    lines += ["", "", *_group_class(group, is_blocking=is_blocking)]
    return "\n".join(lines) + "\n"


def _imports(group: GroupDef, used: set[str], names: Sequence[str], *, is_blocking: bool) -> list[str]:
    package = "masthead._sync" if is_blocking else "masthead._client"
    homes = {"masthead._meta.gvk": ["GroupVersion"]}
    for base in sorted({*used, "Group"}):
        homes.setdefault(f"{package}.{_HOMES.get(base, _ACTIONS)}", []).append(base)
    is_generic = len(names) > 1
    if is_generic:
        homes["masthead._meta.object"] = ["Object"]
    home, _, version = group.module.rpartition(".")
    checked = import_of(home, f"{version} as {group.accessor}", indent=4)
    if is_blocking:
        source = f"{_ROOT.package}.{group.accessor}"
        awaited = [f"{name} as Async{name}" for name in sorted(names, key=str.lower)]
        checked[:0] = [line for name in awaited for line in import_of(source, name, indent=4)]
    return [
        "from __future__ import annotations",
        "",
        f"from typing import {'TYPE_CHECKING, Generic, TypeVar' if is_generic else 'TYPE_CHECKING'}",
        "",
        *(line for home in sorted(homes) for line in render.import_lines(home, homes[home])),
        "",
        "if TYPE_CHECKING:",
        *indented(checked),
    ]


def _kind_class(method: Method, *, is_blocking: bool) -> list[str]:
    bases = [f"{base}[T]" for base in (*method.bases, "Generic")]
    header = lay_out("class ", Brackets(f"{method.returns}(", bases, "):"))
    narrowed = ["", f"    _async: Async{method.returns}[T]"] if is_blocking else []
    return [*header, f'    """The verbs of {method.plural}."""', *narrowed]


def _group_class(group: GroupDef, *, is_blocking: bool) -> list[str]:
    served = Brackets("GroupVersion(", quoted([group.served.group, group.served.version]))
    lines = [
        f"class {group.name}(Group):",
        *indented(attribute(f"The resources of {group.served}.", group.removal)),
        "",
        *([f"    _async: Async{group.name}"] if is_blocking else []),
        *indented(lay_out("GROUP_VERSION = ", served, indent=4)),
    ]
    for method in group.methods:
        # One reason for all of its resources is given by the group.
        removal = "" if method.removal == group.removal else method.removal
        lines += ["", *indented(_method(method, removal, is_blocking=is_blocking))]
    return lines


def _method(method: Method, removal: str, *, is_blocking: bool) -> list[str]:
    # A property, whose result can be called: pods("default"), pods() and pods are all resources.
    head = Brackets(f"{method.name}(", ["self"], is_call=False)
    signature = lay_out("def ", head, f" -> {method.returns}[{method.type}]:", indent=4)
    body = lay_out("return ", Brackets(f"{method.returns}(", _arguments(method, is_blocking)), indent=8)
    return ["@property", *signature, *indented(attribute(_about(method), removal)), *indented(body)]


def _arguments(method: Method, is_blocking: bool) -> list[str]:
    if is_blocking:
        return ["self._portal", f"self._async.{method.name}"]
    return ["self._context", f"self._target({text(method.kind)})", "None"]


def _about(method: Method) -> str:
    if method.bases == (REVIEWS[method.is_namespaced],):
        return f"Send {method.plural}."
    if method.is_namespaced:
        return f"{method.plural} of all namespaces; called with a namespace, of that one."
    return f"{method.plural}."


def from_folders(openapi: Path, legacy: Path | None = None) -> dict[PurePosixPath, str]:
    """Write every file, by its path below ``masthead``.

    Args:
        openapi: The documents of the release.
        legacy: The documents of the API versions that it no longer serves; None to read them back from their classes.

    Raises:
        GenerateError: If documents are missing or malformed.
    """
    groups = groups_of(releases.read(openapi, legacy))
    made = informers.files_of(groups)
    for folder, root, is_blocking in (
        (FOLDERS[0], "_client/clientset.py", False),
        (FOLDERS[1], "_sync/clientset.py", True),
    ):
        made[PurePosixPath(root)] = render_clientset(groups, is_blocking=is_blocking)
        for group in groups:
            path = PurePosixPath(folder, f"{group.accessor}.py")
            made[path] = render_group(group, is_blocking=is_blocking)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.clientset", description=__doc__)
    releases.add_options(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder of masthead")
    options = parser.parse_args(arguments)
    try:
        files.write(from_folders(options.openapi, options.legacy), options.out, FOLDERS)
    except (MastheadError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
