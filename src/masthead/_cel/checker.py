"""The checker: every node gets its type, and every call its overloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._cel.errors import CompileError, Issue
from masthead._cel.nodes import (
    CallNode,
    ComprehensionNode,
    FieldEntry,
    IdentNode,
    ListNode,
    LiteralNode,
    MapNode,
    MessageNode,
    Node,
    SelectNode,
)
from masthead._cel.types import (
    ANY,
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    DYN,
    ERROR,
    INT,
    IP,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    list_of,
    map_of,
    optional_of,
    param,
    type_of,
)
from masthead._cel.unification import Substitutions, most_general
from masthead._cel.validators import literal_issues
from masthead._cel.values import Uint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._cel.declarations import Function, Overload
    from masthead._cel.environment import CelEnvironment

__all__ = ["RESERVED_FIELDS", "check"]

RESERVED_FIELDS: Final = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
"""Words that cannot be identifiers; as fields they are escaped."""

_TYPES: Final = {
    type_.name: type_
    for type_ in (
        BOOL,
        BYTES,
        DOUBLE,
        DURATION,
        INT,
        list_of(param("A")),
        map_of(param("A"), param("B")),
        NULL,
        STRING,
        TIMESTAMP,
        TYPE,
        UINT,
        optional_of(param("V")),
        IP,
        CIDR,
    )
}
_WITHOUT_FIELDS: Final = frozenset(
    f"kubernetes.authorization.{name}"
    for name in ("Authorizer", "Decision", "GroupCheck", "PathCheck", "ResourceCheck")
)
"""Types with methods only, whose fields the server cannot look up."""
_SHORT_TYPES: Final = {"duration": DURATION, "timestamp": TIMESTAMP}
_LITERALS: Final = {
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
}


def check(source: str, root: Node, variables: Mapping[str, Type], environment: CelEnvironment) -> Type:
    """Check an expression: set the types of its nodes, and the overloads of its calls.

    Args:
        source: The text, for errors.
        root: The expression.
        variables: The types of the variables.
        environment: The functions and messages.

    Returns:
        The type of the expression.

    Raises:
        CompileError: If types do not fit, or names are not declared.
    """
    checker = _Checker(variables, environment)
    checker.check(root)
    issues = checker.finish()
    if not issues:
        # Only for well-typed expressions: the server runs its validators after the checker.
        issues = literal_issues(root)
    if issues:
        raise CompileError(source, issues)
    return root.type


class _Checker:
    def __init__(self, variables: Mapping[str, Type], environment: CelEnvironment) -> None:
        self.nodes: list[Node] = []
        self._issues: list[Issue] = []
        self._known = Substitutions()
        self._functions = environment.functions
        self._find_struct = environment.find_struct
        self._scopes: list[dict[str, Type]] = [dict(variables)]
        self._checks: dict[type, Callable[..., Type]] = {
            LiteralNode: self._check_literal,
            IdentNode: self._check_ident,
            SelectNode: self._check_select,
            CallNode: self._check_call,
            ListNode: self._check_list,
            MapNode: self._check_map,
            MessageNode: self._check_message,
            ComprehensionNode: self._check_comprehension,
        }

    def check(self, node: Node) -> Type:
        """Check a node and what it consists of."""
        # The type may still contain type variables; `finish` resolves them.
        node.type = self._checks[type(node)](node)
        self.nodes.append(node)
        return node.type

    def finish(self) -> list[Issue]:
        """Resolve open types; unresolved types become dynamic."""
        for node in self.nodes:
            node.type = self._known.resolve(node.type, open_is_dyn=True)
        return self._issues

    def _report(self, node: Node, message: str) -> None:
        self._issues.append(Issue(node.offset, message))

    def _report_undeclared(self, node: Node, name: str) -> Type:
        self._report(node, f"undeclared reference to '{name}' (in container '')")
        return ERROR

    def _mismatch(self, node: Node, expected: Type, found: Type) -> None:
        self._report(node, f"expected type '{expected}' but found '{found}'")

    # Names.

    def _find_variable(self, name: str) -> Type | None:
        plain = name.removeprefix(".")
        # The innermost scope wins.
        for scope in reversed(self._scopes):
            if plain in scope:
                return scope[plain]
        return None

    def _check_literal(self, node: LiteralNode) -> Type:
        return _LITERALS[type(node.value)]

    def _check_ident(self, node: IdentNode) -> Type:
        found = self._find_variable(node.name)
        if found is not None:
            node.name = node.name.removeprefix(".")
            return found
        named = _TYPES.get(node.name.removeprefix(".")) or _SHORT_TYPES.get(node.name)
        if named is None:
            return self._report_undeclared(node, node.name)
        if node.name in _SHORT_TYPES:
            # Known to the checker alone: compiling it fails.
            return type_of(named)
        node.is_type = True
        node.name = named.name
        return type_of(named)

    def _check_select(self, node: SelectNode) -> Type:
        qualified = _qualified_name(node)
        # A qualified name may be that of a type, such as google.protobuf.Duration.
        named = _TYPES.get(qualified.removeprefix(".")) if qualified else None
        if named is not None and not node.is_test:
            node.type_name = named.name
            return type_of(named)
        operand = self._known.resolve(self.check(node.operand))
        result = self._field_type(node, operand.params[0] if operand.is_optional else operand)
        if node.is_test:
            return BOOL
        if operand.is_optional or node.is_optional:
            return optional_of(result)
        return result

    def _field_type(self, node: SelectNode, target: Type) -> Type:
        if target.kind == "map":
            return target.params[1]
        if target.kind == "struct":
            field = target.fields.get(node.field)
            # Keywords are escaped in schemas.
            if field is None and node.field in RESERVED_FIELDS:
                field = target.fields.get(f"__{node.field}__")
            if field is None:
                is_known = target.name not in _WITHOUT_FIELDS
                problem = (
                    f"undefined field '{node.field}'" if is_known else f"unexpected failed resolution of '{target}'"
                )
                self._report(node, problem)
                return ERROR
            return field
        if target.kind == "param":
            # An open type with a field can only be dynamic.
            self._known.is_assignable(DYN, target)
        elif target.kind not in {"dyn", "error"}:
            self._report(node, f"type '{target}' does not support field selection")
        return DYN

    # Calls.

    def _check_call(self, node: CallNode) -> Type:
        for arg in node.args:
            self.check(arg)
        if node.target is None:
            found = self._functions.get(node.function.removeprefix("."))
            if found is None:
                return self._report_undeclared(node, node.function)
            return self._resolve(node, found)
        qualified = _qualified_name(node.target)
        if qualified:
            # A function in a namespace, such as math.greatest, looks like a method of a field.
            found = self._functions.get(f"{qualified}.{node.function}".removeprefix("."))
            if found is not None:
                node.target = None
                node.function = found.name
                return self._resolve(node, found)
        self.check(node.target)
        found = self._functions.get(node.function)
        if found is None:
            return self._report_undeclared(node, node.function)
        return self._resolve(node, found)

    def _resolve(self, node: CallNode, found: Function) -> Type:
        node.function = found.name
        if found.name in {"_&&_", "_||_"}:
            return self._resolve_logic(node, found)
        types = [operand.type for operand in node.operands]
        result: Type | None = None
        for overload in found.overloads:
            # Functions and methods of the same name are different overloads.
            if overload.is_method is (node.target is None):
                continue
            candidate = self._match(overload, types)
            if candidate is None:
                continue
            node.overloads.append(overload.id)
            if result is None:
                result = candidate
            # Several overloads fit: their results have no common type.
            elif not result.is_dynamic and candidate != result:
                result = DYN
        if result is None:
            return self._no_overload(node, found, types)
        return result

    def _resolve_logic(self, node: CallNode, found: Function) -> Type:
        node.overloads.append(found.overloads[0].id)
        result = BOOL
        for arg in node.args:
            if not self._known.is_assignable(arg.type, BOOL):
                self._mismatch(arg, BOOL, self._known.resolve(arg.type))
                result = ERROR
        return result

    def _match(self, overload: Overload, types: list[Type]) -> Type | None:
        """The type of the result if the arguments fit."""
        if len(overload.args) != len(types):
            return None
        # Fresh type variables, so that two calls of a generic function are independent.
        *args, result = self._known.rename([*overload.args, overload.result])
        if not self._known.are_assignable(types, args):
            return None
        return self._known.resolve(result)

    def _no_overload(self, node: CallNode, found: Function, types: list[Type]) -> Type:
        shown = [str(self._known.resolve(type_, open_is_dyn=True)) for type_ in types]
        target, args = ("", shown) if node.target is None else (f"{shown[0]}.", shown[1:])
        signature = f"{target}({', '.join(args)})"
        self._report(node, f"found no matching overload for '{found.name}' applied to '{signature}'")
        return ERROR

    # Lists, maps and loops.

    def _check_list(self, node: ListNode) -> Type:
        item: Type | None = None
        for index, element in enumerate(node.items):
            found = self.check(element)
            if index in node.optionals:
                found = self._unwrap_optional(element, found)
            item = self._join(item, found)
        # The type of an empty list is open until it is used.
        return list_of(item if item is not None else self._known.new_variable())

    def _check_map(self, node: MapNode) -> Type:
        key: Type | None = None
        value: Type | None = None
        for key_node, value_node, is_optional in node.entries:
            key = self._join(key, self.check(key_node))
            found = self.check(value_node)
            if is_optional:
                found = self._unwrap_optional(value_node, found)
            value = self._join(value, found)
        if key is None or value is None:
            return map_of(self._known.new_variable(), self._known.new_variable())
        return map_of(key, value)

    def _check_message(self, node: MessageNode) -> Type:
        name = node.name.removeprefix(".")
        struct = self._find_struct(name)
        if struct is None:
            # Messages of protobuf are types, too, but no expression of Kubernetes can use one.
            if (named := _TYPES.get(name)) is not None:
                return named
            variable = self._find_variable(name)
            if variable is None:
                return self._report_undeclared(node, node.name)
            self._report(node, f"'{variable}' is not a type")
            return ERROR
        node.name = name
        for field in node.fields:
            self._check_field(field, struct)
        return struct

    def _check_field(self, field: FieldEntry, struct: Type) -> None:
        found = self.check(field.value)
        if field.is_optional:
            found = self._unwrap_optional(field.value, found)
        expected = struct.fields.get(field.name)
        if expected is None:
            self._issues.append(Issue(field.offset, f"undefined field '{field.name}'"))
        elif not self._known.is_assignable(expected, found):
            shown = self._known.resolve(found)
            message = f"expected type of field '{field.name}' is '{expected}' but provided type is '{shown}'"
            self._issues.append(Issue(field.offset, message))

    def _unwrap_optional(self, node: Node, found: Type) -> Type:
        if found.is_optional:
            return found.params[0]
        if not found.is_dynamic:
            self._mismatch(node, optional_of(found), found)
        return found

    def _join(self, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        if self._known.is_assignable(previous, current):
            return most_general(previous, current)
        # Types that differ are found later, where the formats of strings are exempt.
        return DYN

    def _check_comprehension(self, node: ComprehensionNode) -> Type:
        over = self._known.resolve(self.check(node.over))
        start = self.check(node.start)
        names = node.variables
        # The accumulator is visible in the result, the variables of the loop are not.
        self._scopes.append({node.accumulator: start})
        self._scopes.append(dict(zip(names, self._item_types(node, over), strict=False)))
        self.check(node.condition)
        self._assert_type(node.condition, BOOL)
        self.check(node.step)
        self._assert_type(node.step, start)
        self._scopes.pop()
        result = self.check(node.result)
        self._scopes.pop()
        return self._known.resolve(result)

    def _item_types(self, node: ComprehensionNode, over: Type) -> tuple[Type, Type]:
        """The types of key and value, or of the item first."""
        if over.kind == "list":
            return (INT, over.params[0]) if len(node.variables) == 2 else (over.params[0], DYN)
        if over.kind == "map":
            return over.params[0], over.params[1]
        if over.kind in {"dyn", "error", "param"} and over != ANY:
            self._known.is_assignable(DYN, over)
            return DYN, DYN
        self._report(
            node.over,
            f"expression of type '{over}' cannot be range of a comprehension (must be list, map, or dynamic)",
        )
        return ERROR, ERROR

    def _assert_type(self, node: Node, expected: Type) -> None:
        if not self._known.is_assignable(expected, node.type):
            self._mismatch(node, expected, node.type)


def _qualified_name(node: Node) -> str:
    """The name that identifiers and fields make, such as ``google.protobuf.Duration``; empty if it is no such."""
    parts: list[str] = []
    # Only plain selections are part of a name.
    while isinstance(node, SelectNode) and not node.is_test and not node.is_optional:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, IdentNode):
        return ""
    return ".".join([node.name, *reversed(parts)])
