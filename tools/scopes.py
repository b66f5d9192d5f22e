"""What the names in a module's source mean, and which of them a piece of code needs."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from masthead._codegen.definitions import Reference
from masthead.errors import GenerateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Scope:
    """A module's source, read.

    Attributes:
        module: Its dotted name.
        title: What its docstring begins with, up to the first point or colon.
        imported: What its names stand for that it imports, for type checkers or at run time.
        assigned: The statements that define its other names.
        classes: Its classes.
    """

    module: str
    title: str
    imported: dict[str, Reference]
    assigned: dict[str, ast.stmt]
    classes: dict[str, ast.ClassDef]

    def meaning(self, name: str) -> Reference | None:
        """Where a name is from; None for a builtin."""
        if name in self.imported:
            return self.imported[name]
        if name in self.assigned or name in self.classes:
            return Reference(self.module, name)
        return None

    def docs(self) -> Iterator[str]:
        """The docstrings of its classes and their methods."""
        for each in self.classes.values():
            for node in ast.walk(each):
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    yield ast.get_docstring(node, clean=False) or ""


def read_scope(module: str, source: str) -> Scope:
    """Read a module.

    Raises:
        GenerateError: if it is no Python, or has no docstring.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise GenerateError(f"{module} cannot be read: {error}") from None
    doc = ast.get_docstring(tree)
    if not doc:
        raise GenerateError(f"{module} has no docstring to take its first line from")
    scope = Scope(module, re.split(r"[.:\n]", doc, maxsplit=1)[0], {}, {}, {})
    for statement in _statements(tree):
        if isinstance(statement, ast.ImportFrom):
            for each in statement.names:
                scope.imported[each.asname or each.name] = Reference(statement.module or "", each.name)
        elif isinstance(statement, ast.ClassDef):
            scope.classes[statement.name] = statement
        for name in _targets(statement):
            scope.assigned[name] = statement
    return scope


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    for statement in tree.body:
        if isinstance(statement, ast.If):  # for type checkers only
            yield from statement.body
        else:
            yield statement


def _targets(statement: ast.stmt) -> Iterator[str]:
    found = statement.targets if isinstance(statement, ast.Assign) else []
    found = [statement.target] if isinstance(statement, ast.AnnAssign) else found
    yield from (each.id for each in found if isinstance(each, ast.Name))


def is_type_variable(statement: ast.stmt) -> bool:
    """Whether a statement defines a type variable, which every module has to do for itself."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "TypeVar"


def names_needed(nodes: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
    """The names that a piece of code needs at run time, and those that only type checkers look up."""
    walk = _Names()
    for node in nodes:
        walk.visit(node)
    return walk.at_run_time, walk.for_checkers - walk.at_run_time


class _Names(ast.NodeVisitor):
    """Tells annotations, which nothing evaluates, from the rest."""

    def __init__(self) -> None:
        self.at_run_time: set[str] = set()
        self.for_checkers: set[str] = set()
        self._found = self.at_run_time

    def visit_Name(self, node: ast.Name) -> None:
        self._found.add(node.id)

    def visit_arg(self, node: ast.arg) -> None:
        self._annotation(node.annotation)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._annotation(node.returns)
        for each in (*node.decorator_list, node.args, *node.body):
            self.visit(each)

    def _annotation(self, node: ast.expr | None) -> None:
        if node is not None:
            before, self._found = self._found, self.for_checkers
            self.visit(node)
            self._found = before


def import_statements(wanted: Iterable[tuple[str, Reference]]) -> list[ast.stmt]:
    """The statements that import these, each under its name."""
    homes: defaultdict[str, list[ast.alias]] = defaultdict(list)
    for name, found in sorted(wanted):
        homes[found.module].append(ast.alias(found.name, name if name != found.name else None))
    return [ast.ImportFrom(home, names, 0) for home, names in sorted(homes.items())]
