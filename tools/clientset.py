"""``python -m tools.clientset``: a class for every group and version, a method for every resource.

With ``--informers``, also the groups of a factory of informers (`tools.informers`).

What a resource's class can do, its verbs and subresources say: one base per subresource that has a class of verbs of
its own in `masthead._client`, `ResourceClient` alone for what has none, `Reviews` for what can only be created.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._codegen import naming, render, sources, types
from masthead._codegen.layout import Brackets, lay_out, quoted, text
from masthead.errors import GenerateError, MastheadError
from tools.headers import first_line
from tools.informers import render_informers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from masthead._codegen.definitions import ClassDef, ModuleDef
    from masthead._codegen.spec import Spec
    from masthead._meta.gvk import GroupVersion
    from masthead._meta.resource import Resource

_RESOURCE: Final = "ResourceClient"
_REVIEWS: Final = "Reviews"
_PARTS: Final[Mapping[str, str]] = {
    "status": "StatusVerbs",
    "scale": "ScaleVerbs",
    "approval": "ApprovalVerbs",
    "binding": "BindingVerbs",
    "ephemeralcontainers": "EphemeralContainerVerbs",
    "eviction": "EvictionVerbs",
    "finalize": "FinalizeVerbs",
    "log": "LogVerbs",
    "resize": "ResizeVerbs",
    "token": "TokenVerbs",
}
"""The class of verbs for each subresource, in the order in which a class has them as bases."""
_HOMES: Final[Mapping[str, str]] = {
    _RESOURCE: "masthead._client.resource",
    _REVIEWS: "masthead._client.reviews",
    "StatusVerbs": "masthead._client.subresources",
    "ScaleVerbs": "masthead._client.subresources",
}
_ACTIONS: Final = "masthead._client.actions"
_API: Final = "masthead.api"


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a group.

    Attributes:
        kind: The kind whose objects it leads to.
        type: Where its class is, for type checkers: ``core_v1.Pod``.
        plural: The kind in the plural: ``Pods``.
        bases: What its class can do.
        is_namespaced: Whether it takes a namespace.
        is_watched: Whether its objects can be listed and watched.
        returns: The class that it returns, but for its type: one of the kind's own, or the only base.
    """

    kind: str
    type: str
    plural: str
    bases: tuple[str, ...]
    is_namespaced: bool
    returns: str
    is_watched: bool = True

    @property
    def name(self) -> str:
        """What it is called: ``config_maps``."""
        return naming.attribute_name(self.plural, taken=())


@dataclass(frozen=True, slots=True)
class GroupDef:
    """A class of the clientset.

    Attributes:
        served: Its group and version.
        module: The module of its types.
        methods: Its methods, by name.
    """

    served: GroupVersion
    module: str
    methods: tuple[Method, ...]

    @property
    def accessor(self) -> str:
        """Its attribute of the client, and the name of its types: ``core_v1``."""
        return _accessor(self.module)

    @property
    def name(self) -> str:
        """The name of its class: ``CoreV1``."""
        return "".join(part.capitalize() for part in self.accessor.split("_"))


def plural_of(kind: str, plural: str) -> str:
    """The plural as Go's clients spell it, with the capitals of the kind: ``IPAddresses``, ``ServiceCIDRs``."""
    shared = next(
        (at for at, (a, b) in enumerate(zip(kind.lower(), plural, strict=False)) if a != b), len(kind)
    )
    return kind[:shared] + plural[shared:]


def groups_of(spec: Spec) -> list[GroupDef]:
    """The classes of the clientset, in the order of their names."""
    modules = [each for each in types.modules_of(spec, _API) if any(_served(each))]
    forms: dict[str, set[tuple[str, ...]]] = {}
    for cls, resource in (one for each in modules for one in _served(each)):
        forms.setdefault(plural_of(cls.name, resource.name), set()).add(_bases(resource))
    several = {plural for plural, bases in forms.items() if len(bases) > 1}
    return sorted((_group(each, several) for each in modules), key=lambda each: each.accessor)


def _served(module: ModuleDef) -> Iterator[tuple[ClassDef, Resource]]:
    for each in module.classes:
        if each.resource is not None and each.resource.verbs:
            yield each, each.resource


def _bases(resource: Resource) -> tuple[str, *tuple[str, ...]]:
    if resource.verbs == ("create",):
        return (_REVIEWS,)
    there = {each.name for each in resource.subresources}
    return (_RESOURCE, *(base for part, base in _PARTS.items() if part in there))


def _accessor(module: str) -> str:
    return "_".join(module.split(".")[-2:])


def _group(module: ModuleDef, several: set[str]) -> GroupDef:
    group = GroupDef(module.group_version, module.name, ())
    methods: list[Method] = []
    for cls, resource in _served(module):
        plural, bases = plural_of(cls.name, resource.name), _bases(resource)
        # Versions of a kind share a class, unless one can do what another cannot.
        own = f"{group.name}{plural}" if plural in several else plural
        returns = bases[0] if bases in {(_RESOURCE,), (_REVIEWS,)} else own
        kind = f"{group.accessor}.{cls.name}"
        is_watched = {"list", "watch"} <= {*resource.verbs}
        methods.append(Method(cls.name, kind, plural, bases, resource.namespaced, returns, is_watched))
    return replace(group, methods=tuple(sorted(methods, key=lambda each: each.name)))


def render_clientset(groups: Sequence[GroupDef]) -> str:
    """Write the module.

    Raises:
        GenerateError: if two classes would have the same name.
    """
    methods = [each for group in groups for each in group.methods]
    kinds = {each.returns: each for each in methods if each.returns not in each.bases}
    names = [*sorted(kinds), *(group.name for group in groups), "Clientset"]
    used = {base for each in methods for base in each.bases}
    if twice := [name for name, count in Counter([*names, *used]).items() if count > 1]:
        raise GenerateError(f"the clientset would have several classes called {', '.join(twice)}")
    blocks = [
        *(_kind_class(kinds[name]) for name in sorted(kinds)),
        *(_group_class(each) for each in groups),
        _client_class(groups),
    ]
    exported = lay_out("__all__ = ", Brackets("[", quoted(sorted(names)), "]", is_call=False))
    variable = 'T = TypeVar("T", bound=Object)'
    lines = [
        *_header(groups, used),
        "",
        *exported,
        "",
        variable,
        *(line for each in blocks for line in ["", "", *each]),
    ]
    return "\n".join(lines) + "\n"


def _header(groups: Sequence[GroupDef], used: set[str]) -> list[str]:
    homes = {
        "masthead._client.group": ["Group"],
        "masthead._meta.gvk": ["GroupVersion"],
        "masthead._meta.object": ["Object"],
    }
    for base in sorted(used):
        homes.setdefault(_HOMES.get(base, _ACTIONS), []).append(base)
    checked = [("masthead._client.base", "ClientContext")]
    for group in groups:
        home, _, version = group.module.rpartition(".")
        checked.append((home, f"{version} as {group.accessor}"))
    return [
        first_line("Every group that Kubernetes serves"),
        "",
        "from __future__ import annotations",
        "",
        "from functools import cached_property",
        "from typing import TYPE_CHECKING, Generic, TypeVar",
        "",
        *(line for home in sorted(homes) for line in render.import_lines(home, homes[home])),
        "",
        "if TYPE_CHECKING:",
        *(f"    from {home} import {name}" for home, name in sorted(checked)),
    ]


def _kind_class(method: Method) -> list[str]:
    bases = [f"{base}[T]" for base in (*method.bases, "Generic")]
    header = lay_out("class ", Brackets(f"{method.returns}(", bases, "):"))
    return [*header, f'    """{method.plural}, and what can be done with them."""']


def _group_class(group: GroupDef) -> list[str]:
    served = Brackets("GroupVersion(", quoted([group.served.group, group.served.version]))
    lines = [f"class {group.name}(Group):", f'    """The resources of {group.served}."""', ""]
    lines += [f"    {line}" for line in lay_out("GROUP_VERSION = ", served, indent=4)]
    for method in group.methods:
        lines += ["", *(f"    {line}" for line in _method(method))]
    return lines


def _method(method: Method) -> list[str]:
    parameters = ["self", *(["namespace: str | None = None"] if method.is_namespaced else [])]
    # The formatter puts a comma behind a parameter that stands alone on its line.
    head = Brackets(f"{method.name}(", parameters, is_call=method.is_namespaced)
    namespace = "namespace" if method.is_namespaced else "None"
    target = f"self._target({text(method.kind)})"
    body = lay_out("return ", Brackets(f"{method.returns}(", ["self._context", target, namespace]), indent=8)
    signature = lay_out("def ", head, f" -> {method.returns}[{method.type}]:", indent=4)
    return [*signature, f'    """{_about(method)}"""', *(f"    {line}" for line in body)]


def _about(method: Method) -> str:
    if method.bases == (_REVIEWS,):
        return f"For sending {method.plural}."
    return f"{method.plural} of one namespace, or of all." if method.is_namespaced else f"{method.plural}."


def _client_class(groups: Sequence[GroupDef]) -> list[str]:
    lines = [
        "class Clientset:",
        '    """Every group at every version, made when it is first asked for."""',
        "",
        "    def __init__(self, context: ClientContext) -> None:",
        "        self._context = context",
    ]
    for group in groups:
        lines += [
            "",
            "    @cached_property",
            f"    def {group.accessor}(self) -> {group.name}:",
            f'        """The resources of {group.served}."""',
            f"        return {group.name}(self._context)",
        ]
    return lines


def from_folder(folder: Path) -> tuple[str, str]:
    """Write the clientset for the documents of a folder, and the groups of a factory of informers.

    Raises:
        GenerateError: if documents are missing or malformed.
    """
    groups = groups_of(sources.from_folder(folder))
    return render_clientset(groups), render_informers(groups)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.clientset", description=__doc__)
    parser.add_argument(
        "--openapi",
        type=Path,
        required=True,
        metavar="DIR",
        help="a folder of OpenAPI v3 and discovery documents",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the module to write")
    parser.add_argument(
        "--informers", type=Path, metavar="FILE", help="the module to write a factory's groups to"
    )
    options = parser.parse_args(arguments)
    try:
        texts = from_folder(options.openapi)
        for path, written in zip((options.out, options.informers), texts, strict=True):
            if path is not None:
                path.write_text(written, encoding="utf-8", newline="\n")
    except (MastheadError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
