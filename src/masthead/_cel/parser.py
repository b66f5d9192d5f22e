"""The parser: from text to nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from masthead._cel.errors import CompileError, Issue
from masthead._cel.lexer import LexicalToken, tokenize, unescape
from masthead._cel.macros import MacroError, expand, expand_binding
from masthead._cel.nodes import (
    CallNode,
    FieldEntry,
    IdentNode,
    ListNode,
    LiteralNode,
    MapNode,
    MessageNode,
    Node,
    SelectNode,
    depth_of,
)
from masthead._cel.values import MAX_INT, MAX_UINT, MIN_INT, Uint

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["MAX_DEPTH", "MAX_LENGTH", "parse"]

MAX_LENGTH: Final = 100_000
"""The most characters of an expression."""

MAX_DEPTH: Final = 250
"""How deep an expression may be nested."""

_OPERATORS: Final = {
    "||": ("_||_", 1),
    "&&": ("_&&_", 2),
    "==": ("_==_", 3),
    "!=": ("_!=_", 3),
    "<": ("_<_", 3),
    "<=": ("_<=_", 3),
    ">": ("_>_", 3),
    ">=": ("_>=_", 3),
    "in": ("@in", 3),
    "+": ("_+_", 4),
    "-": ("_-_", 4),
    "*": ("_*_", 5),
    "/": ("_/_", 5),
    "%": ("_%_", 5),
}
_RESERVED: Final = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)
_LITERALS: Final = frozenset({"true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES"})
_STARTS: Final = _LITERALS | {"[", "{", "(", ".", "-", "!", "IDENTIFIER"}
# As ANTLR names them, in the order of its grammar.
_NAMED: Final = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"
_EXPRESSION: Final = f"{{'[', '{{', '(', '.', '-', '!', {_NAMED}}}"
_ARGUMENT: Final = f"{{'[', '{{', '(', ')', '.', '-', '!', {_NAMED}}}"
_INDEX: Final = f"{{'[', '{{', '(', '.', '-', '!', '?', {_NAMED}}}"
_LIST_ITEM: Final = f"{{'[', ']', '{{', '(', '.', ',', '-', '!', '?', {_NAMED}}}"
_MAP_ENTRY: Final = f"{{'[', '{{', '}}', '(', '.', ',', '-', '!', '?', {_NAMED}}}"


def parse(source: str, *, is_plain: bool = False, qualified: Collection[str] = (), has_bindings: bool = False) -> Node:
    """Parse an expression, and expand its macros.

    Args:
        source: The text.
        is_plain: Whether to parse without macros and without the syntax of optionals, for expressions that are only
            read and never evaluated: shard selectors.
        qualified: Variables with a dot in their names, such as ``authorizer.requestResource``.
        has_bindings: Whether ``cel.bind`` is a macro.

    Raises:
        CompileError: If it is no expression, too long, or nested too deeply.
    """
    # Before anything is read: the length bounds the work of all later steps.
    if len(source) > MAX_LENGTH:
        message = f"expression code point size exceeds limit: size: {len(source)}, limit {MAX_LENGTH}"
        raise CompileError(source, [Issue(-1, message)])
    parser = _Parser(source, is_plain=is_plain, qualified=qualified, has_bindings=has_bindings)
    try:
        return parser.parse()
    # Python's stack may end before the limit of the grammar does.
    except RecursionError:
        raise CompileError(source, [_too_deep()]) from None


def _too_deep() -> Issue:
    return Issue(-1, f"expression recursion limit exceeded: {MAX_DEPTH}")


class _SyntaxError(Exception):
    """The text is no expression, and the parser cannot go on."""


class _Parser:
    def __init__(self, source: str, *, is_plain: bool, qualified: Collection[str], has_bindings: bool) -> None:
        self._source = source
        self._qualified = qualified
        self._has_bindings = has_bindings
        self._is_plain = is_plain
        self._tokens, self._issues = tokenize(source)
        self._at = 0
        self._depth = 0
        self._copies = [0]
        # Until a token is taken after a syntax error, further ones are its consequences.
        self._is_recovering = False
        # What may follow the expressions that are being parsed, from the outermost on.
        self._followers: list[frozenset[str]] = [frozenset({"EOF"})]

    def parse(self) -> Node:
        node: Node | None = None
        try:
            node = self._expression(_EXPRESSION)
            self._expect_end()
        except _SyntaxError:
            pass
        if self._issues or node is None:
            raise CompileError(self._source, self._issues)
        # Macros have been expanded by now, so they count with the depth of their expansion.
        if depth_of(node) > MAX_DEPTH:
            raise CompileError(self._source, [_too_deep()])
        return node

    # Tokens and errors.

    @property
    def _token(self) -> LexicalToken:
        return self._tokens[self._at]

    def _next(self) -> LexicalToken:
        token = self._tokens[self._at]
        if token.kind != "EOF":
            self._at += 1
            self._is_recovering = False
        return token

    def _accept(self, kind: str) -> LexicalToken | None:
        return self._next() if self._token.kind == kind else None

    def _peek(self, distance: int) -> str:
        return self._tokens[min(self._at + distance, len(self._tokens) - 1)].kind

    def _report(self, offset: int, message: str) -> None:
        self._issues.append(Issue(offset, message))

    def _report_syntax(self, message: str) -> None:
        if not self._is_recovering:
            self._report(self._token.offset, f"Syntax error: {message}")
        self._is_recovering = True

    def _fail(self, message: str) -> NoReturn:
        self._report_syntax(message)
        raise _SyntaxError

    def _mismatch(self, expected: str) -> NoReturn:
        self._fail(f"mismatched input '{self._token.text}' expecting {expected}")

    def _drop_extraneous(self, expected: str) -> None:
        """Report a token that must not be there, and go on behind it."""
        self._report_syntax(f"extraneous input '{self._token.text}' expecting {expected}")
        self._next()

    def _report_no_alternative(self, first: LexicalToken) -> None:
        """Report the text from a token on that no rule of the grammar begins with."""
        token = self._token
        end = first.offset + len(first.text) if token.kind == "EOF" else token.offset + len(token.text)
        if token.kind == "EOF" and first.kind == "-":
            end = token.offset
        self._report_syntax(f"no viable alternative at input '{self._source[first.offset : end]}'")

    def _skip(self) -> None:
        """Skip to what can follow the expressions that are being parsed."""
        following = frozenset(_OPERATORS).union({"?"}, *self._followers)
        while self._token.kind not in following:
            self._at += 1

    def _recover(self) -> Node:
        """Skip text that is not an expression, and return a placeholder."""
        self._skip()
        return LiteralNode(self._token.offset, None)

    def _inner(self, expected: str, *followers: str) -> Node:
        """Parse an expression that ends with one of some tokens."""
        self._followers.append(frozenset(followers))
        node = self._expression(expected)
        self._followers.pop()
        return node

    def _expect(self, kind: str) -> None:
        """Take a token; if only that one is missing or one is too many, report it and go on."""
        if self._accept(kind):
            return
        if self._peek(1) == kind:
            self._drop_extraneous(f"'{kind}'")
            self._next()
        elif self._can_be_missing(kind):
            self._report_syntax(f"missing '{kind}' at '{self._token.text}'")
        else:
            self._report_syntax(f"mismatched input '{self._token.text}' expecting '{kind}'")
            self._skip()

    def _can_be_missing(self, kind: str) -> bool:
        """Whether the next token could stand behind the missing one."""
        if kind == ":":
            return self._token.kind in _STARTS
        return self._token.kind in _AFTER_OPERAND | self._followers[-1]

    def _expect_end(self) -> None:
        if self._token.kind != "EOF":
            if self._peek(1) == "EOF":
                self._drop_extraneous("<EOF>")
            else:
                self._mismatch("<EOF>")

    def _optional(self, syntax: str) -> LexicalToken | None:
        """Take a question mark that makes something optional; a plain expression must have none.

        Args:
            syntax: The question mark with its prefix.
        """
        token = self._accept("?")
        if token and self._is_plain:
            self._report(token.offset, f"unsupported syntax '{syntax}'")
        return token

    # Expressions.

    def _expression(self, expected: str) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise RecursionError
        node = self._binary(expected)
        if question := self._accept("?"):
            self._followers.append(frozenset({":"}))
            then = self._binary(_EXPRESSION)
            self._followers.pop()
            self._expect(":")
            otherwise = self._expression(_EXPRESSION)
            node = CallNode(question.offset, "_?_:_", [node, then, otherwise])
        self._depth -= 1
        return node

    def _binary(self, expected: str) -> Node:
        """Operands and operators: an operator waits until one follows that binds no tighter."""
        operands = [self._unary(expected)]
        waiting: list[tuple[str, int, int]] = []
        while found := _OPERATORS.get(self._token.kind):
            function, precedence = found
            while waiting and waiting[-1][1] >= precedence:
                _reduce(operands, waiting)
            waiting.append((function, precedence, self._next().offset))
            operands.append(self._unary(_EXPRESSION))
        while waiting:
            _reduce(operands, waiting)
        return operands[0]

    def _unary(self, expected: str) -> Node:
        kind = self._token.kind
        if kind != "!" and (kind != "-" or self._peek(1) in {"NUM_INT", "NUM_FLOAT"}):
            return self._member(expected)
        first = self._token
        count = 0
        while self._token.kind == kind:
            count += 1
            self._next()
        if self._token.kind not in _STARTS:
            self._report_no_operand(first)
        operand = self._member(_EXPRESSION)
        function = "!_" if kind == "!" else "-_"
        return CallNode(first.offset, function, [operand]) if count % 2 else operand

    def _report_no_operand(self, first: LexicalToken) -> None:
        if first.kind == "!":
            # The grammar's loop of operators ends here; ANTLR takes the token for one too many.
            self._drop_extraneous(_EXPRESSION)
            return
        self._report_no_alternative(first)
        self._is_recovering = False

    def _member(self, expected: str) -> Node:
        if self._token.kind == "(":
            self._next()
            node = self._inner(_EXPRESSION, ")")
            self._expect(")")
        else:
            node = self._primary(expected)
        while self._token.kind in {".", "["}:
            node = self._selection(node) if self._token.kind == "." else self._index(node)
        return node

    def _selection(self, operand: Node) -> Node:
        dot = self._next()
        optional = self._optional(".?")
        name = self._field_name(dot)
        if name is None:
            return self._recover()
        if not optional and self._token.kind == "(" and name.kind == "IDENTIFIER":
            opening = self._next()
            return self._call(opening.offset, name.text, self._arguments(), operand)
        if name.kind == "ESC_IDENTIFIER":
            self._report(name.offset, "unsupported syntax: '`'")
        if self._qualified and not optional and isinstance(operand, IdentNode):
            qualified = f"{operand.name}.{name.text}"
            if qualified in self._qualified:
                return IdentNode(dot.offset, qualified)
        return SelectNode(dot.offset, operand, name.text, is_optional=optional is not None)

    def _field_name(self, dot: LexicalToken) -> LexicalToken | None:
        token = self._token
        if token.kind in {"IDENTIFIER", "ESC_IDENTIFIER"}:
            return self._next()
        if token.kind in {"true", "false", "null"}:
            self._mismatch("IDENTIFIER")
        self._report_no_alternative(dot)
        return None

    def _index(self, operand: Node) -> Node:
        opening = self._next()
        optional = self._optional("[?")
        index = self._inner(_EXPRESSION if optional else _INDEX, "]")
        self._expect("]")
        return CallNode(opening.offset, "_[?_]" if optional else "_[_]", [operand, index])

    def _arguments(self) -> list[Node]:
        """The arguments of a call, behind its opening parenthesis."""
        if self._accept(")"):
            return []
        args = [self._inner(_ARGUMENT, ")", ",")]
        while self._accept(","):
            args.append(self._inner(_EXPRESSION, ")", ","))
        self._expect(")")
        return args

    def _call(self, offset: int, function: str, args: list[Node], target: Node | None) -> Node:
        if self._is_plain:
            return CallNode(offset, function, args, target)
        try:
            expansion = self._expand(offset, function, target, args)
        except MacroError as error:
            self._report(error.offset, str(error))
            return LiteralNode(offset, None)
        return CallNode(offset, function, args, target) if expansion is None else expansion

    def _expand(self, offset: int, function: str, target: Node | None, args: list[Node]) -> Node | None:
        is_binding = function == "bind" and isinstance(target, IdentNode) and target.name == "cel"
        if self._has_bindings and is_binding and len(args) == 3:
            return expand_binding(offset, args)
        return expand(offset, function, target, args, self._copies)

    def _primary(self, expected: str) -> Node:
        token = self._token
        if token.kind == "[":
            return self._list()
        if token.kind == "{":
            return self._map()
        if token.kind in {"IDENTIFIER", "."}:
            return self._identifier()
        is_signed = token.kind == "-" and self._peek(1) in {"NUM_INT", "NUM_FLOAT"}
        if token.kind in _LITERALS or is_signed:
            return self._literal()
        if token.kind != "EOF" and self._peek(1) in _STARTS:
            self._drop_extraneous(expected)
            return self._unary(expected)
        self._report_syntax(f"mismatched input '{token.text}' expecting {expected}")
        return self._recover()

    def _identifier(self) -> Node:
        dot = self._accept(".")
        token = self._accept("IDENTIFIER")
        if token is None:
            self._report_no_alternative(dot or self._token)
            return self._recover()
        offset = dot.offset if dot else token.offset
        if token.text in _RESERVED:
            self._report(offset, f"reserved identifier: {token.text}")
        name = f".{token.text}" if dot else token.text
        if self._token.kind == "(":
            opening = self._next()
            return self._call(opening.offset, name, self._arguments(), None)
        if message := self._message_brace():
            return self._message(name, message)
        return IdentNode(token.offset, name)

    def _message_brace(self) -> int:
        """How far the brace of a message is away; 0 if it is missing."""
        # Only lookahead tells a message from an identifier that a map follows.
        distance = 0
        while self._peek(distance) == "." and self._peek(distance + 1) == "IDENTIFIER":
            distance += 2
        return distance + 1 if self._peek(distance) == "{" else 0

    def _message(self, name: str, distance: int) -> Node:
        """Parse a message with fields."""
        name += "".join(self._next().text for _ in range(distance - 1))
        opening = self._next()
        fields: list[FieldEntry] = []
        while self._token.kind not in {"}", "EOF"}:
            is_optional = self._optional("?") is not None
            field = self._accept("IDENTIFIER")
            if field is None:
                self._mismatch("IDENTIFIER")
            colon = self._token
            self._expect(":")
            value = self._inner(_EXPRESSION, "}", ",")
            fields.append(FieldEntry(colon.offset, field.text, value, is_optional))
            if not self._accept(","):
                break
        self._expect("}")
        return MessageNode(opening.offset, name, fields)

    def _list(self) -> Node:
        opening = self._next()
        items: list[Node] = []
        optionals: set[int] = set()
        ends_with_comma = self._accept(",") is not None
        # The grammar allows one comma at the end, and a comma alone.
        while not ends_with_comma and self._token.kind != "]":
            if self._optional("?"):
                optionals.add(len(items))
            items.append(self._inner(_EXPRESSION if items else _LIST_ITEM, "]", ","))
            if not self._accept(","):
                break
            ends_with_comma = self._token.kind not in _STARTS | {"?"}
        self._close("]", ends_with_comma=ends_with_comma)
        return ListNode(opening.offset, items, frozenset(optionals))

    def _map(self) -> Node:
        opening = self._next()
        entries: list[tuple[Node, Node, bool]] = []
        ends_with_comma = self._accept(",") is not None
        while not ends_with_comma and self._token.kind != "}":
            optional = self._optional("?") is not None
            key = self._inner(_EXPRESSION if entries else _MAP_ENTRY, ":")
            self._expect(":")
            entries.append((key, self._inner(_EXPRESSION, "}", ","), optional))
            if not self._accept(","):
                break
            ends_with_comma = self._token.kind not in _STARTS | {"?"}
        self._close("}", ends_with_comma=ends_with_comma)
        return MapNode(opening.offset, entries)

    def _close(self, kind: str, *, ends_with_comma: bool) -> None:
        """Take the bracket behind a list or map."""
        if ends_with_comma:
            self._expect(kind)
        elif not self._accept(kind):
            expected = f"{{'{kind}', ','}}"
            # ANTLR deletes one token if the next one fits, and reports the mismatch otherwise.
            if self._peek(1) not in {kind, ","}:
                self._report_syntax(f"mismatched input '{self._token.text}' expecting {expected}")
                self._skip()
                return
            self._drop_extraneous(expected)
            if self._accept(","):
                self._expect(kind)
            else:
                self._next()

    def _literal(self) -> Node:
        sign = self._accept("-")
        token = self._next()
        offset = sign.offset if sign else token.offset
        text = f"-{token.text}" if sign else token.text
        if token.kind in {"true", "false"}:
            return LiteralNode(offset, token.kind == "true")
        if token.kind == "null":
            return LiteralNode(offset, None)
        if token.kind in {"STRING", "BYTES"}:
            return self._text(token)
        if token.kind == "NUM_FLOAT":
            return LiteralNode(offset, self._float(text, offset))
        return LiteralNode(offset, self._integer(text, offset, unsigned=token.kind == "NUM_UINT"))

    def _text(self, token: LexicalToken) -> Node:
        is_bytes = token.kind == "BYTES"
        try:
            # Without the b; `unescape` removes the quotes.
            text = unescape(token.text[1:] if is_bytes else token.text, is_bytes=is_bytes)
        except ValueError as error:
            self._report(token.offset, str(error))
            text = ""
        return LiteralNode(token.offset, text.encode("latin-1") if is_bytes else text)

    def _float(self, text: str, offset: int) -> float:
        value = float(text)
        # Python accepts too large numbers, Go does not.
        if value in {float("inf"), float("-inf")}:
            self._report(offset, "invalid double literal")
        return value

    def _integer(self, text: str, offset: int, *, unsigned: bool) -> int:
        digits = text.lstrip("-").rstrip("uU")
        is_hexadecimal = digits.startswith("0x")
        # No valid literal has more digits, and Python takes long for very many.
        value = MAX_UINT + 1
        if len(digits.lstrip("0")) <= 20:
            value = int(digits, 16 if is_hexadecimal else 10)
        value = -value if text.startswith("-") else value
        low, high = (0, MAX_UINT) if unsigned else (MIN_INT, MAX_INT)
        if not low <= value <= high:
            self._report(offset, f"invalid {'uint' if unsigned else 'int'} literal")
            # A value is needed to continue and to find further errors.
            value = 0
        return Uint(value) if unsigned else value


_AFTER_OPERAND: Final = frozenset({"?", ".", "["}) | _OPERATORS.keys()
"""The tokens that continue an expression."""


def _reduce(operands: list[Node], waiting: list[tuple[str, int, int]]) -> None:
    function, _, offset = waiting.pop()
    right = operands.pop()
    left = operands[-1]
    if function in {"_&&_", "_||_"} and isinstance(left, CallNode) and left.function == function:
        # Terms in a row stay one call: an expression of many terms is not deep.
        left.args.append(right)
    else:
        operands[-1] = CallNode(offset, function, [left, right])
