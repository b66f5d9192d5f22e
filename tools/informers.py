"""The groups of an informer factory: the groups of the clientset, with an attribute for each watchable resource."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from masthead._codegen.layout import Brackets, lay_out, quoted, text
from tools.headers import first_line
from tools.layout import NARROWS, Root, attribute, import_of, indented, render_root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.groups import GroupDef, Method

__all__ = ["FOLDERS", "files_of", "render_informer_group", "render_informer_groups"]

FOLDERS: Final = ("aio/informers", "informers")
"""The folders of the groups, async and blocking. Their ``__init__.py`` is written by `tools.exports`."""
_ROOT: Final = Root(
    name="InformerGroups",
    title="The groups of an informer factory",
    about="The informers of",
    package="masthead.aio.informers",
    blocking_package="masthead.informers",
    home="masthead._cache.factory.groups",
    blocking_base=("FactoryFacade", "masthead._sync.lifecycle"),
    argument=("provide", "Provide", "masthead._cache.factory.informers"),
)


def files_of(groups: Sequence[GroupDef]) -> dict[PurePosixPath, str]:
    """Write every file, by its path below ``masthead``.

    Args:
        groups: The groups of the clientset.
    """
    made: dict[PurePosixPath, str] = {}
    for folder, root, is_blocking in (
        (FOLDERS[0], "_cache/factory/groups.py", False),
        (FOLDERS[1], "_sync/groups.py", True),
    ):
        made[PurePosixPath(root)] = render_informer_groups(groups, is_blocking=is_blocking)
        for group in _select_watched(groups):
            path = PurePosixPath(folder, f"{group.accessor}.py")
            made[path] = render_informer_group(group, is_blocking=is_blocking)
    return made


def render_informer_groups(groups: Sequence[GroupDef], *, is_blocking: bool = False) -> str:
    """Write the module of the class with a property for every group."""
    return render_root(
        _ROOT, [(group, _class_name(group)) for group in _select_watched(groups)], is_blocking=is_blocking
    )


def render_informer_group(group: GroupDef, *, is_blocking: bool = False) -> str:
    """Write the module of a group."""
    name = _class_name(group)
    home, _, version = group.module.rpartition(".")
    informers = "masthead._sync.informers" if is_blocking else "masthead._cache.factory.informers"
    checked = import_of(home, f"{version} as {group.accessor}", indent=4)
    if is_blocking:
        source = f"{_ROOT.package}.{group.accessor}"
        checked[:0] = import_of(source, f"{name} as Async{name}", indent=4)
    else:
        checked[:0] = import_of(informers, "Informers")
    imports = [
        f"from {informers} import InformerGroup{', Informers' if is_blocking else ''}",
        "from masthead._meta.gvk import GroupVersion",
    ]
    lines = [
        first_line(f"The informers of {group.served}"),
        "",
        *([*NARROWS, ""] if is_blocking else []),
        "from __future__ import annotations",
        "",
        "from functools import cached_property",
        "from typing import TYPE_CHECKING",
        "",
        *(reversed(imports) if is_blocking else imports),
        "",
        "if TYPE_CHECKING:",
        *indented(checked),
        "",
        f'__all__ = ["{name}"]',
        "",
        "",
        *_group_class(group, is_blocking=is_blocking),
    ]
    return "\n".join(lines) + "\n"


def _select_watched(groups: Sequence[GroupDef]) -> list[GroupDef]:
    return [group.watched for group in groups if group.watched.methods]


def _class_name(group: GroupDef) -> str:
    return f"{group.name}Informers"


def _group_class(group: GroupDef, *, is_blocking: bool) -> list[str]:
    served = Brackets("GroupVersion(", quoted([group.served.group, group.served.version]))
    lines = [
        f"class {_class_name(group)}(InformerGroup):",
        *indented(attribute(f"The informers of {group.served}.", group.removal)),
        "",
        *([f"    _async: Async{_class_name(group)}"] if is_blocking else []),
        *indented(lay_out("GROUP_VERSION = ", served, indent=4)),
    ]
    for method in group.methods:
        # One reason for all of its resources is given by the group.
        removal = "" if method.removal == group.removal else method.removal
        lines += ["", *indented(_property(method, removal, is_blocking=is_blocking))]
    return lines


def _property(method: Method, removal: str, *, is_blocking: bool) -> list[str]:
    # The formatter puts a comma behind a parameter that is alone on its line.
    head = Brackets(f"{method.name}(", ["self"], is_call=False)
    awaited = f"Informers(self._portal, self._async.{method.name})"
    return [
        "@cached_property",
        *lay_out("def ", head, f" -> Informers[{method.type}]:", indent=4),
        *indented(attribute(f"{method.plural}.", removal)),
        f"    return {awaited if is_blocking else f'self._informers({text(method.kind)})'}",
    ]
