"""Label selectors.

::

    from masthead.meta import labels

    web = labels.parse("app=web, tier in (front,back), !legacy")
    web.matches({"app": "web", "tier": "front"})  # True
    str(web)  # "app=web,!legacy,tier in (back,front)"

The grammar, where whitespace is allowed between any two tokens::

    selector     =  [ requirement { "," requirement } ]
    requirement  =  key                          the label exists
                 |  "!" key                      ... does not exist
                 |  key ( "=" | "==" ) [ value ]
                 |  key "!=" [ value ]           ... has another value, or does not exist
                 |  key "in" set
                 |  key "notin" set              ... has none of these values, or does not exist
                 |  key ( ">" | "<" ) value      ... is an integer above or below this one
    set          =  "(" [ value ] { "," [ value ] } ")"

An omitted value is the empty string.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol, TypeAlias

from masthead._meta.names import problem_with_label_value, problem_with_qualified_name, quote
from masthead._module import set_module
from masthead.errors import SelectorError

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

__all__ = [
    "LabelSelectorLike",
    "Operator",
    "Requirement",
    "RequirementLike",
    "Selector",
    "everything",
    "from_label_selector",
    "from_mapping",
    "nothing",
    "parse",
]

_EXAMPLE = "Write it like 'app=web,tier in (front,back),!legacy'."


@set_module("masthead.meta.labels")
class Operator(enum.StrEnum):
    """The operator of a requirement; spelled as in apimachinery's selection package."""

    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = "gt"
    LESS_THAN = "lt"


_WITHOUT_VALUE = frozenset({Operator.EXISTS, Operator.DOES_NOT_EXIST})
_WITH_SET = frozenset({Operator.IN, Operator.NOT_IN})
_WITH_INTEGER = frozenset({Operator.GREATER_THAN, Operator.LESS_THAN})

_BY_SIGN = {
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
}
_SIGNS = {operator: sign for sign, operator in _BY_SIGN.items()}

_BY_API_NAME = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


@set_module("masthead.meta.labels")
class RequirementLike(Protocol):
    """An item of ``matchExpressions``, whatever class it is of."""

    @property
    def key(self) -> str:
        """The label's key."""
        ...

    @property
    def operator(self) -> str:
        """``In``, ``NotIn``, ``Exists`` or ``DoesNotExist``."""
        ...

    @property
    def values(self) -> Sequence[str]:
        """The values to compare with; empty for the last two operators."""
        ...


@set_module("masthead.meta.labels")
class LabelSelectorLike(Protocol):
    """The API's ``LabelSelector``, whatever class it is of."""

    @property
    def match_labels(self) -> Mapping[str, str]:
        """Labels that must have exactly these values."""
        ...

    @property
    def match_expressions(self) -> Sequence[RequirementLike]:
        """Further requirements, all of which must hold."""
        ...


# A compiled requirement: key, values, and whether the label's value must or must not be among them. A plain tuple,
# because matching unpacks one per requirement and object, and a named tuple takes a third longer.
_Rule: TypeAlias = "tuple[str, Container[str | None], bool]"


@set_module("masthead.meta")
@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label.

    Attributes:
        key: The label's key.
        operator: The operator.
        values: The values to compare with, sorted.

    Raises:
        SelectorError: If the key or a value is invalid, or the operator takes another number or kind of values.
    """

    key: str
    operator: Operator
    values: tuple[str, ...] = ()
    _rule: _Rule = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "operator", _check_operator(self.operator))
        object.__setattr__(self, "values", tuple(sorted(self.values)))
        if problem := _problem_with(self):
            raise SelectorError(f"{problem}. {_EXAMPLE}", value=(self.key, self.operator, self.values))
        object.__setattr__(self, "_rule", _rule_for(self))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels meets the requirement."""
        key, values, among = self._rule
        return (labels.get(key) in values) is among

    def __str__(self) -> str:
        if self.operator is Operator.EXISTS:
            return self.key
        if self.operator is Operator.DOES_NOT_EXIST:
            return f"!{self.key}"
        if self.operator in _WITH_SET:
            return f"{self.key} {self.operator} ({','.join(self.values)})"
        return f"{self.key}{_SIGNS[self.operator]}{self.values[0]}"


@set_module("masthead.meta")
@dataclass(frozen=True, slots=True)
class Selector:
    """A conjunction of requirements on labels.

    Immutable and hashable. ``a & b`` selects what both select; ``str()`` is the form that servers accept and that
    `parse` reads back, except that `nothing` and `everything` both print as the empty string.

    Attributes:
        requirements: Sorted by key; those with the same key in the given order.
        matches_nothing: Whether this is `nothing`, which selects no object.
    """

    requirements: tuple[Requirement, ...] = ()
    matches_nothing: bool = field(default=False, kw_only=True)
    _rules: tuple[_Rule, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # differs from client-go, whose unstable sort reorders requirements on the same key if there are more than 12.
        ordered = () if self.matches_nothing else tuple(sorted(self.requirements, key=attrgetter("key")))
        object.__setattr__(self, "requirements", ordered)
        rules = (_NEVER,) if self.matches_nothing else tuple(map(_rule_for, ordered))
        object.__setattr__(self, "_rules", rules)

    @property
    def is_empty(self) -> bool:
        """Whether every object is selected."""
        return not self._rules

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        # This runs for every object of a list or cache: no call per requirement, and no generator.
        get = labels.get
        for key, values, among in self._rules:  # noqa: SIM110
            if (get(key) in values) is not among:
                return False
        return True

    def __and__(self, other: Selector) -> Selector:
        """Return the conjunction of both selectors."""
        if self.matches_nothing or other.matches_nothing:
            return _NOTHING
        return Selector(self.requirements + other.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


@set_module("masthead.meta.labels")
def parse(text: str) -> Selector:
    """Parse a selector such as ``app=web,tier in (front,back),!legacy``; empty text selects everything.

    Raises:
        SelectorError: If the text does not follow the grammar, or a key or value is invalid.
    """
    return Selector(tuple(_Parser(text).requirements()))


@set_module("masthead.meta.labels")
def everything() -> Selector:
    """Select every object."""
    return _EVERYTHING


@set_module("masthead.meta.labels")
def nothing() -> Selector:
    """Select no object.

    It has no text form and prints as the empty string, which selects everything on a server: check
    `Selector.matches_nothing` before sending it.
    """
    return _NOTHING


@set_module("masthead.meta.labels")
def from_mapping(labels: Mapping[str, str]) -> Selector:
    """Select the objects that have all these labels, with these values.

    Raises:
        SelectorError: If a key or a value is invalid.
    """
    return Selector(tuple(_equalities(labels)))


@set_module("masthead.meta.labels")
def from_label_selector(selector: LabelSelectorLike | None) -> Selector:
    """Convert the API's ``LabelSelector``, as in Deployments, to a selector.

    None (an omitted selector) selects nothing; an empty one selects everything.

    Raises:
        SelectorError: If a key or a value is invalid, or an operator is unknown or has the wrong number of values.
    """
    if selector is None:
        return _NOTHING
    expressions = map(_from_expression, selector.match_expressions)
    return Selector((*_equalities(selector.match_labels), *expressions))


def _equalities(labels: Mapping[str, str]) -> Iterator[Requirement]:
    return (Requirement(key, Operator.EQUALS, (value,)) for key, value in labels.items())


def _from_expression(expression: RequirementLike) -> Requirement:
    operator = _BY_API_NAME.get(expression.operator)
    if operator is None:
        raise SelectorError(
            f"the operator {quote(expression.operator)} for the label {quote(expression.key)} is unknown. "
            f"Use In, NotIn, Exists or DoesNotExist.",
            value=expression.operator,
        )
    return Requirement(expression.key, operator, tuple(expression.values))


def _check_operator(operator: str) -> Operator:
    try:
        return Operator(operator)
    except ValueError:
        known = " ".join(Operator)
        raise SelectorError(f"the operator {operator!r} is not one of: {known}", value=operator) from None


def _problem_with(requirement: Requirement) -> str | None:
    key, operator, values = requirement.key, requirement.operator, requirement.values
    if problem := problem_with_qualified_name(key):
        return f"the label key {quote(key)} is not right: {problem}"
    if problem := _problem_with_count(operator, len(values)):
        return f"the requirement on label {quote(key)} {problem}"
    for value in values:
        if problem := _problem_with_value(operator, value):
            return f"the value {quote(value)} for label {quote(key)} is not right: {problem}"
    return None


def _problem_with_value(operator: Operator, value: str) -> str | None:
    if operator in _WITH_INTEGER and _integer(value) is None:
        return "'<' and '>' take an integer"
    return problem_with_label_value(value)


def _problem_with_count(operator: Operator, count: int) -> str | None:
    if operator in _WITHOUT_VALUE:
        return f"takes no value, and has {count}" if count else None
    if operator in _WITH_SET:
        return None if count else f"takes one value or more after {operator.value!r}, and has none"
    return f"takes one value after {_SIGNS[operator]!r}, and has {count}" if count != 1 else None


_INTEGER = re.compile(r"([+-]?)(?:0*+([1-9][0-9]{0,18})|0++)")
"""What Go's ``strconv.ParseInt`` accepts; ``int()`` also accepts ``1_000``, spaces and non-ASCII digits."""
_INT64 = range(-(2**63), 2**63)


def _integer(value: str) -> int | None:
    match = _INTEGER.fullmatch(value)
    if match is None:
        return None
    number = int("".join(match.groups(default="0")))
    return number if number in _INT64 else None


class _Integers:
    """The label values that are integers within a range."""

    __slots__ = ("_range",)

    def __init__(self, start: int, stop: int) -> None:
        self._range = range(start, stop)

    def __contains__(self, value: object) -> bool:
        number = _integer(value) if isinstance(value, str) else None
        # `None in range(...)` would compare item by item, practically for ever.
        return number is not None and number in self._range


def _rule_for(requirement: Requirement) -> _Rule:
    """Compile a requirement to a membership test of the label's value, or None for no label."""
    key, operator, values = requirement.key, requirement.operator, requirement.values
    if operator is Operator.GREATER_THAN:
        return key, _Integers(int(values[0]) + 1, _INT64.stop), True
    if operator is Operator.LESS_THAN:
        return key, _Integers(_INT64.start, int(values[0])), True
    if operator in _WITHOUT_VALUE:
        return key, frozenset({None}), operator is Operator.DOES_NOT_EXIST
    # A missing label is None and so outside every set of values: it meets notin and !=, and fails in and =.
    return key, frozenset(values), operator not in {Operator.NOT_IN, Operator.NOT_EQUALS}


_NEVER: _Rule = ("", (), True)
_EVERYTHING = Selector()
_NOTHING = Selector(matches_nothing=True)

_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+")
_SIGN_CHARACTERS = frozenset("=!(),<>")
_END = ""


class _Parser:
    """A recursive descent parser for one selector.

    Words become keys, operators or values, which validate their characters, so there is no rule for these here.
    """

    # differs from client-go, where a NUL ends a word or the whole text; here it is invalid like other characters.

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [(match.group(), match.start()) for match in _TOKEN.finditer(text)]
        self._tokens.append((_END, len(text)))
        self._index = 0

    def requirements(self) -> Iterator[Requirement]:
        if self._token == _END:
            return
        yield self._requirement()
        while self._accept(","):
            yield self._requirement()
        if self._token != _END:
            raise self._syntax_error("',' or the end")

    def _requirement(self) -> Requirement:
        start = self._position
        is_negated = self._accept("!")
        if not self._at_word:
            raise self._syntax_error("a label key")
        key = self._word()
        operator, values = (Operator.DOES_NOT_EXIST, ()) if is_negated else self._condition()
        try:
            return Requirement(key, operator, values)
        except SelectorError as error:
            raise self._error(str(error), start) from None

    def _condition(self) -> tuple[Operator, tuple[str, ...]]:
        if self._token in {",", _END}:
            return Operator.EXISTS, ()
        operator = _BY_SIGN.get(self._token)
        if operator is None:
            raise self._syntax_error("one of = == != in notin < >")
        self._index += 1
        return operator, self._set() if operator in _WITH_SET else (self._word(),)

    def _set(self) -> tuple[str, ...]:
        if not self._accept("("):
            raise self._syntax_error("'(' and a list of values")
        values = {self._word()}
        while self._accept(","):
            values.add(self._word())
        if not self._accept(")"):
            raise self._syntax_error("',' or ')'")
        return tuple(values)

    def _word(self) -> str:
        """Consume the next word; without one, the value is empty."""
        if not self._at_word:
            return ""
        word = self._token
        self._index += 1
        return word

    def _accept(self, sign: str) -> bool:
        if self._token != sign:
            return False
        self._index += 1
        return True

    @property
    def _token(self) -> str:
        return self._tokens[self._index][0]

    @property
    def _position(self) -> int:
        return self._tokens[self._index][1]

    @property
    def _at_word(self) -> bool:
        return self._token != _END and self._token[0] not in _SIGN_CHARACTERS

    def _syntax_error(self, what: str) -> SelectorError:
        found = "the end" if self._token == _END else quote(self._token)
        return self._error(f"expected {what}, found {found}. {_EXAMPLE}", self._position)

    def _error(self, problem: str, position: int) -> SelectorError:
        return SelectorError(f"label selector {quote(self._text)}, position {position}: {problem}", value=self._text)
