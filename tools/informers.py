"""The groups of a factory of informers: a class for every group and version, an attribute for every resource.

They are those of the clientset, under the same names, as far as something can be listed and watched.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead._codegen.layout import Brackets, lay_out, quoted, text
from tools.headers import first_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.clientset import GroupDef, Method

__all__ = ["render_informers"]

_GROUPS: Final = "InformerGroups"


def render_informers(groups: Sequence[GroupDef]) -> str:
    """Write the module.

    Args:
        groups: The groups of the clientset.
    """
    watched = [_watched(each) for each in groups if _watched(each).methods]
    names = sorted([*map(_class_name, watched), _GROUPS])
    lines = [
        *_header(watched),
        "",
        *lay_out("__all__ = ", Brackets("[", quoted(names), "]", is_call=False)),
        *(line for each in watched for line in ["", "", *_group_class(each)]),
        "",
        "",
        *_groups_class(watched),
    ]
    return "\n".join(lines) + "\n"


def _watched(group: GroupDef) -> GroupDef:
    return replace(group, methods=tuple(each for each in group.methods if each.is_watched))


def _class_name(group: GroupDef) -> str:
    return f"{group.name}Informers"


def _header(groups: Sequence[GroupDef]) -> list[str]:
    types = sorted((*group.module.rpartition(".")[::2], group.accessor) for group in groups)
    return [
        first_line("The informers of every group that Kubernetes serves"),
        "",
        "from __future__ import annotations",
        "",
        "from functools import cached_property",
        "from typing import TYPE_CHECKING",
        "",
        "from masthead._cache.factory.informers import InformerGroup",
        "from masthead._meta.gvk import GroupVersion",
        "",
        "if TYPE_CHECKING:",
        "    from masthead._cache.factory.informers import Informers, Provide",
        *(f"    from {home} import {version} as {accessor}" for home, version, accessor in types),
    ]


def _group_class(group: GroupDef) -> list[str]:
    served = Brackets("GroupVersion(", quoted([group.served.group, group.served.version]))
    lines = [
        f"class {_class_name(group)}(InformerGroup):",
        f'    """The informers of {group.served}."""',
        "",
        *(f"    {line}" for line in lay_out("GROUP_VERSION = ", served, indent=4)),
    ]
    for method in group.methods:
        lines += ["", *(f"    {line}" for line in _property(method))]
    return lines


def _property(method: Method) -> list[str]:
    # The formatter puts a comma behind a parameter that stands alone on its line.
    head = Brackets(f"{method.name}(", ["self"], is_call=False)
    return [
        "@cached_property",
        *lay_out("def ", head, f" -> Informers[{method.type}]:", indent=4),
        f'    """{method.plural}."""',
        f"    return self._informers({text(method.kind)})",
    ]


def _groups_class(groups: Sequence[GroupDef]) -> list[str]:
    lines = [
        f"class {_GROUPS}:",
        '    """Every group at every version, made when it is first asked for."""',
        "",
        "    def __init__(self, provide: Provide) -> None:",
        "        self._provide = provide",
    ]
    for group in groups:
        lines += [
            "",
            "    @cached_property",
            f"    def {group.accessor}(self) -> {_class_name(group)}:",
            f'        """The informers of {group.served}."""',
            f"        return {_class_name(group)}(self._provide)",
        ]
    return lines
