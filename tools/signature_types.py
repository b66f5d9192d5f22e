"""``python -m tools.signature_types``: check that users can import every type in a public signature.

The check starts from the public modules and reads the sources: the parameters, results, attributes and bases of each
public class and function, and the right-hand sides of public type aliases. A type that `masthead` or `masthead_server`
defines must be exported by a public module, or users could not write an annotation with it. A base class without public
members is an implementation detail and may be private.
"""

from __future__ import annotations

import ast
import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._codegen.definitions import Reference
from tools.exports import names_of
from tools.public_names import NAMES
from tools.scopes import is_type_variable, read_scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tools.scopes import Scope

__all__ = ["FOLDERS", "Finding", "Sources", "find_private_types", "main"]

_ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = (_ROOT / "src", _ROOT / "server" / "src")
"""The folders of the packages."""
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
# ``list[...]`` where a method called ``list`` hides the builtin.
_BUILTINS: Final = frozenset({"ListOf"})
# Bases that only complete blocking or private classes: users see their members as those of the class.
_PLUMBING: Final = ("Facade", "RedactedRepr")
# Classes whose objects users receive and do not construct.
_NOT_CONSTRUCTED: Final = frozenset(
    {"BaseResource", "Faults", "ListWatch", "ProbeServer", "ReconcileLoop", "Store", "WebSocket"}
)
# Called by the embedded server itself.
_INTERNAL: Final = frozenset({"masthead.server.Fault.respond"})
# Called by Python, with signatures that users see.
_OPERATORS: Final = frozenset(
    {"__init__", "__call__", "__enter__", "__aenter__", "__iter__", "__aiter__", "__getitem__"}
)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A type that users cannot import.

    Attributes:
        type: The module that defines it, and its name.
        used_in: The public signature with that type.
    """

    type: str
    used_in: str

    def __str__(self) -> str:
        return f"{self.type}, in {self.used_in}"


class Sources:
    """The modules of packages, read from their sources.

    Args:
        folders: The folders that contain the packages.
    """

    def __init__(self, folders: Iterable[Path] = FOLDERS) -> None:
        self._folders = tuple(folders)
        self.scope = functools.cache(self._read)

    def path(self, module: str) -> Path | None:
        """Return the file of a module; None if it is not part of the packages."""
        for folder in self._folders:
            path = folder.joinpath(*module.split("."))
            for candidate in (path / "__init__.py", path.with_suffix(".py")):
                if candidate.is_file():
                    return candidate
        return None

    def resolve(self, reference: Reference) -> Reference:
        """Follow imports to the module that defines a name."""
        while (scope := self.scope(reference.module)) is not None:
            target = scope.imported.get(reference.name)
            if target is None or not target.name:
                break
            reference = target
        return reference

    def _read(self, module: str) -> Scope | None:
        path = self.path(module)
        return None if path is None else read_scope(module, path.read_text(encoding="utf-8"))


class _Walk:
    """Collects the types in the signatures of public names."""

    def __init__(self, sources: Sources, exported: Mapping[Reference, str]) -> None:
        self._sources = sources
        self._exported = exported
        self.findings: set[Finding] = set()

    def visit(self, reference: Reference, public_name: str) -> None:
        scope = self._sources.scope(reference.module)
        if scope is None:
            return
        if cls := scope.classes.get(reference.name):
            self._visit_class(scope, cls, public_name)
        elif function := scope.functions.get(reference.name):
            self._visit_function(scope, function, public_name)
        elif (statement := scope.assigned.get(reference.name)) and isinstance(statement, ast.Assign | ast.AnnAssign):
            if isinstance(statement, ast.AnnAssign) and not _is_alias(statement):
                self._visit_annotation(scope, statement.annotation, public_name)
            elif isinstance(statement, ast.AnnAssign) or _looks_like_alias(statement.value):
                self._visit_annotation(scope, statement.value, public_name)

    def _visit_class(self, scope: Scope, cls: ast.ClassDef, public_name: str) -> None:
        for base in cls.bases:
            self._visit_base(scope, base, public_name)
        for statement in _class_statements(cls):
            if isinstance(statement, _FUNCTIONS) and _is_shown(cls, statement):
                self._visit_function(scope, statement, f"{public_name}.{statement.name}")
            elif isinstance(statement, ast.AnnAssign) and _is_public_member(name := ast.unparse(statement.target)):
                self._visit_annotation(scope, statement.annotation, f"{public_name}.{name}")

    def _visit_base(self, scope: Scope, base: ast.expr, public_name: str) -> None:
        head, arguments = (base.value, base.slice) if isinstance(base, ast.Subscript) else (base, None)
        for reference in self._references(scope, head):
            base_scope = self._sources.scope(reference.module)
            cls = base_scope.classes.get(reference.name) if base_scope else None
            if reference in self._exported or base_scope is None or cls is None:
                self._visit_annotation(scope, arguments, public_name)
            elif _is_private_base(cls, public_name):
                self._visit_class(base_scope, cls, public_name)
            else:
                self._report(reference, f"the bases of {public_name}")

    def _visit_function(self, scope: Scope, function: ast.FunctionDef | ast.AsyncFunctionDef, public_name: str) -> None:
        arguments = function.args
        for argument in (
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            *filter(None, (arguments.vararg, arguments.kwarg)),
        ):
            if not argument.arg.startswith("_") and argument.arg != "self":
                self._visit_annotation(scope, argument.annotation, public_name)
        self._visit_annotation(scope, function.returns, public_name)

    def _visit_annotation(self, scope: Scope, annotation: ast.expr | None, public_name: str) -> None:
        for reference in self._references(scope, annotation):
            if reference in self._exported or reference.name in _BUILTINS:
                continue
            if not self._visit_descriptor(reference, public_name):
                self._report(reference, public_name)

    def _visit_descriptor(self, reference: Reference, public_name: str) -> bool:
        """Visit the value of a descriptor, which users see instead of its class. Returns False for another class."""
        scope = self._sources.scope(reference.module)
        cls = scope.classes.get(reference.name) if scope else None
        if scope is None or cls is None:
            return False
        for node in cls.body:
            if isinstance(node, ast.FunctionDef) and node.name == "__get__":
                self._visit_function(scope, node, public_name)
                return True
        for base in cls.bases:
            # ``SecretField(ConvertedField[str, Secret])``: the arguments are the types of the value.
            if isinstance(base, ast.Subscript) and any(
                self._visit_descriptor(parent, public_name) for parent in self._references(scope, base.value)
            ):
                self._visit_annotation(scope, base.slice, public_name)
                return True
        return False

    def _references(self, scope: Scope, annotation: ast.expr | None) -> Iterator[Reference]:
        """The types of the packages that an annotation names, without type variables, which are local to modules."""
        for node in _name_nodes(annotation):
            reference = _meaning(scope, node)
            if reference is None:
                continue
            reference = self._sources.resolve(reference)
            defining = self._sources.scope(reference.module)
            if defining is None or not reference.name or reference.module.startswith("masthead.api."):
                continue
            statement = defining.assigned.get(reference.name)
            if statement is None or not is_type_variable(statement):
                yield reference

    def _report(self, reference: Reference, public_name: str) -> None:
        if public_name not in _INTERNAL:
            self.findings.add(Finding(f"{reference.module}.{reference.name}", public_name))


def _name_nodes(annotation: ast.expr | None) -> Iterator[ast.expr]:
    if annotation is None:
        return
    if isinstance(annotation, ast.Constant):
        if isinstance(annotation.value, str):
            yield from _name_nodes(_parse_quoted(annotation.value))
        return
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value).rpartition(".")[2] == "Literal":
        return
    if isinstance(annotation, ast.Name | ast.Attribute):
        yield annotation
        return
    for child in ast.iter_child_nodes(annotation):
        if isinstance(child, ast.expr):
            yield from _name_nodes(child)


def _parse_quoted(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:  # metadata of Annotated, not a quoted type
        return None


def _meaning(scope: Scope, node: ast.expr) -> Reference | None:
    """What a name, or an attribute of an imported module, refers to."""
    if isinstance(node, ast.Name):
        return scope.meaning(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = scope.imported.get(node.value.id)
        if owner is not None:
            return Reference(f"{owner.module}.{owner.name}" if owner.name else owner.module, node.attr)
    return None


def _class_statements(cls: ast.ClassDef) -> Iterator[ast.stmt]:
    for statement in cls.body:
        if isinstance(statement, ast.If):  # members for type checkers
            yield from (*statement.body, *statement.orelse)
        else:
            yield statement


def _members(cls: ast.ClassDef) -> Iterator[str]:
    for statement in _class_statements(cls):
        if isinstance(statement, _FUNCTIONS):
            yield statement.name
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id


def _is_private_base(cls: ast.ClassDef, public_name: str) -> bool:
    """Whether a base may stay private: it has no public members, or a public namesake completes it."""
    return (
        cls.name.endswith(_PLUMBING)
        or cls.name == public_name.rpartition(".")[2]
        or not any(_is_public_member(name) and name != "__init__" for name in _members(cls))
    )


def _is_public_member(name: str) -> bool:
    return not name.startswith("_") or name in _OPERATORS


def _is_shown(cls: ast.ClassDef, method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether users see a method. They call a constructor only if it, or its class, describes the arguments."""
    if method.name == "__init__":
        is_described = ast.get_docstring(method) or "Args:" in (ast.get_docstring(cls) or "")
        return bool(is_described) and cls.name not in _NOT_CONSTRUCTED
    return _is_public_member(method.name)


def _is_alias(statement: ast.AnnAssign) -> bool:
    return ast.unparse(statement.annotation).rpartition(".")[2] == "TypeAlias"


def _looks_like_alias(value: ast.expr) -> bool:
    return isinstance(value, ast.Subscript | ast.BinOp | ast.Name | ast.Attribute)


def _exports(sources: Sources) -> dict[Reference, str]:
    """The public names, by the definition that each refers to."""
    exported: dict[Reference, str] = {}
    for module in NAMES:
        for name, home in names_of(module).items():
            if home != module:
                exported.setdefault(sources.resolve(Reference(home, name)), f"{module}.{name}")
    for module in _self_defined_modules(sources):
        scope = sources.scope(module)
        for name in _all_of(sources.path(module)) if scope else ():
            exported.setdefault(sources.resolve(Reference(module, name)), f"{module}.{name}")
    return exported


def _self_defined_modules(sources: Sources) -> Iterator[str]:
    """The public modules that define their names themselves: errors, metrics, and the groups of the clientset."""
    yield from ("masthead.errors", "masthead.metrics", "masthead.testing.virtual_time")
    for package in ("masthead.clientset", "masthead.aio.clientset", "masthead.informers", "masthead.aio.informers"):
        path = sources.path(package)
        for file in sorted(path.parent.glob("*_v*.py")) if path else ():
            yield f"{package}.{file.stem}"


def _all_of(path: Path | None) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8")) if path else ast.Module([], [])
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(statement.value)]
    return []


def find_private_types(sources: Sources) -> list[Finding]:
    """Return the types in public signatures that no public module exports."""
    exported = _exports(sources)
    walk = _Walk(sources, exported)
    for reference, public_name in exported.items():
        walk.visit(reference, public_name)
    return sorted(walk.findings)


def main() -> int:
    """Run the command; returns its exit status."""
    findings = find_private_types(Sources())
    if not findings:
        return 0
    sys.stderr.write("".join(f"{finding}\n" for finding in findings))
    sys.stderr.write("Users cannot import these types: export them in tools/public_names.py, or hide the signature.\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
