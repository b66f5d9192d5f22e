"""Field selectors: selection of objects by the few fields that the server supports.

::

    from masthead.meta import fields

    pods = fields.parse("spec.nodeName=node-1,status.phase!=Running")
    pods.matches({"spec.nodeName": "node-1", "status.phase": "Pending"})  # True

The server decides per resource which fields are supported; ``metadata.name`` and ``metadata.namespace`` always are.
The terms ``field=value``, ``field==value`` and ``field!=value`` are separated by commas, and nothing is trimmed. Within
a value, a comma, an equals sign and a backslash are escaped with a backslash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from masthead._meta.labels import Operator
from masthead._meta.names import quote
from masthead._module import set_module
from masthead.errors import SelectorError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["FieldRequirement", "FieldSelector", "everything", "one", "parse"]

_EXAMPLE = "Write it like 'metadata.name=web,status.phase!=Running'."

# A backslash escapes any next character, so an escaped comma does not separate terms.
_TERM = re.compile(r"(?:[^\\,]++|\\.?)++", re.DOTALL)
_OPERATOR = re.compile(r"!=|==?")
_KEY = re.compile(r"(?:[^\\,=]++|\\[^=])*\\?")
_SPECIAL = re.compile(r"[\\,=]")
_ESCAPE = re.compile(rf"\\({_SPECIAL.pattern})|{_SPECIAL.pattern}")


@set_module("masthead.meta.fields")
@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One condition on one field.

    Attributes:
        key: The field's path, such as ``spec.nodeName``.
        operator: `Operator.EQUALS` or `Operator.NOT_EQUALS`.
        value: The value to compare with, unescaped.

    Raises:
        SelectorError: If the operator is not supported, or the key is empty or would not round-trip.
    """

    key: str
    operator: Operator
    value: str

    def __post_init__(self) -> None:
        if self.operator not in {Operator.EQUALS, Operator.NOT_EQUALS}:
            message = f"a field is compared with = or !=, not with '{self.operator}'. {_EXAMPLE}"
            raise SelectorError(message, value=self.operator)
        if problem := _problem_with_key(self.key, self.operator):
            raise SelectorError(f"the field {quote(self.key)} {problem}. {_EXAMPLE}", value=self.key)

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether an object with these fields meets the requirement; a missing field counts as empty."""
        return (fields.get(self.key, "") == self.value) is (self.operator == Operator.EQUALS)

    def __str__(self) -> str:
        return f"{self.key}{self.operator}{_escape(self.value)}"


@set_module("masthead.meta")
@dataclass(frozen=True, slots=True)
class FieldSelector:
    """A conjunction of requirements on fields.

    Immutable and hashable. ``a & b`` selects what both select; ``str()`` is the form that servers accept and that
    `parse` reads back.

    Attributes:
        requirements: Sorted by their text.
    """

    requirements: tuple[FieldRequirement, ...] = ()
    _rules: tuple[tuple[str, str, bool], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # differs from client-go, which sorts terms as they were typed, and not at all when combining selectors: there
        # "a==z,a=b" keeps its order, and prints as a text that parses to another order.
        ordered = tuple(sorted(self.requirements, key=str))
        rules = tuple((term.key, term.value, term.operator == Operator.EQUALS) for term in ordered)
        object.__setattr__(self, "requirements", ordered)
        object.__setattr__(self, "_rules", rules)

    @property
    def is_empty(self) -> bool:
        """Whether every object is selected."""
        return not self.requirements

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether an object with these fields is selected; a missing field counts as empty."""
        # This runs for every object of a list or cache: no call per requirement, and no generator.
        get = fields.get
        for key, value, is_equal in self._rules:  # noqa: SIM110
            if (get(key, "") == value) is not is_equal:
                return False
        return True

    def __and__(self, other: FieldSelector) -> FieldSelector:
        """Return the conjunction of both selectors."""
        return FieldSelector(self.requirements + other.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


@set_module("masthead.meta.fields")
def parse(text: str) -> FieldSelector:
    """Parse a selector such as ``spec.nodeName=node-1,status.phase!=Running``; empty text selects everything.

    Raises:
        SelectorError: If a term is not of the form field=value, field==value or field!=value, or a value holds a
            comma, equals sign or backslash without a backslash before it.
    """
    return FieldSelector(tuple(_requirements(text)))


@set_module("masthead.meta.fields")
def everything() -> FieldSelector:
    """Select every object."""
    return _EVERYTHING


@set_module("masthead.meta.fields")
def one(key: str, value: str) -> FieldSelector:
    """Select the objects whose field ``key`` has this value; it is escaped as needed.

    Raises:
        SelectorError: If the key is empty or cannot be written in a selector.
    """
    return FieldSelector((FieldRequirement(key, Operator.EQUALS, value),))


_EVERYTHING = FieldSelector()


def _requirements(text: str) -> Iterator[FieldRequirement]:
    for term in _TERM.finditer(text):
        start, end = term.span()
        sign = _OPERATOR.search(text, start, end)
        if sign is None:
            raise _error(text, start, f"found none of = == != in {quote(term[0])}. {_EXAMPLE}")
        operator = Operator.NOT_EQUALS if sign[0] == "!=" else Operator.EQUALS
        value = _unescape(text, sign.end(), end)
        try:
            yield FieldRequirement(text[start : sign.start()], operator, value)
        except SelectorError as error:
            raise _error(text, start, str(error)) from None


def _unescape(text: str, start: int, end: int) -> str:
    for match in _ESCAPE.finditer(text, start, end):
        if match[1] is None:
            raise _error(text, match.start(), f"{match[0]} within a value is written \\{match[0]}")
    return _ESCAPE.sub(r"\1", text[start:end])


def _escape(value: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", value)


def _problem_with_key(key: str, operator: Operator) -> str | None:
    # differs from client-go: there a term without a key is read, and "=" with neither key nor value selects
    # every object. No field has that name, so it is a slip, and a dangerous one when deleting.
    if not key:
        return "must not be empty"
    if _KEY.fullmatch(key) is None:
        return "must not hold ',' or '='"
    if operator == Operator.EQUALS and key.endswith("!"):
        return "must not end with '!', which would read as !="
    return None


def _error(text: str, position: int, problem: str) -> SelectorError:
    return SelectorError(f"field selector {quote(text)}, position {position}: {problem}", value=text)
