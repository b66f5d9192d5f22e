"""Named formats: ``format.dns1123Label().validate(self.name)``."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final

from masthead._cel.declarations import Function, function, method, overload
from masthead._cel.errors import NO_OVERLOAD, EvaluationError
from masthead._cel.library.urls import parse_request_uri
from masthead._cel.types import FORMAT, STRING, list_of, optional_of
from masthead._cel.values import NONE, Opaque, OptionalValue, Value

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FUNCTIONS", "FormatValue", "parse_base64", "parse_date_time"]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_ENDS: Final = "must start and end with an alphanumeric character"
_KEY_TEXT: Final = f"must consist of alphanumeric characters, '-', '_' or '.', and {_ENDS}"
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})\Z")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))\Z", re.DOTALL)
_UUID: Final = re.compile("(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})\\Z")
_LEAP_YEAR: Final = 4


class FormatValue(Opaque):
    """A named format.

    Attributes:
        name: Its name.
        problems: Returns the problems of a text.
        regex_size: The length of its pattern, for its cost.
    """

    __slots__ = ("name", "problems", "regex_size")

    type_name = "kubernetes.NamedFormat"

    def __init__(self, name: str, problems: Callable[[str], list[str]], regex_size: int) -> None:
        self.name = name
        self.problems = problems
        self.regex_size = regex_size

    def equals(self, other: Value) -> bool:
        """Whether the other is the same format.

        Raises:
            EvaluationError: If the other is no format.
        """
        if not isinstance(other, FormatValue):
            raise EvaluationError(NO_OVERLOAD)
        return self.name == other.name


class _Name:
    """A pattern, how long a text may be, and what to say of others."""

    def __init__(self, pattern: str, quick: str, rule: str, examples: str, limit: int, unit: str) -> None:
        # The quick pattern matches the same texts, and reads no character twice.
        self._quick = re.compile(f"(?:{quick})\\Z")
        self.limit = limit
        self._unit = unit
        self.mismatch = f"{rule} (e.g. {examples}, regex used for validation is '{pattern}')"

    def matches(self, text: str) -> bool:
        return self._quick.match(text) is not None

    def problems(self, text: str) -> list[str]:
        long = len(text.encode("utf-8", "surrogatepass")) > self.limit
        found = [f"must be no more than {self.limit} {self._unit}"] if long else []
        return found if self.matches(text) else [*found, self.mismatch]


_QUICK_LABEL: Final = "[a-z0-9][-a-z0-9]*+(?<!-)"
_QUICK_KEY: Final = "[A-Za-z0-9][-A-Za-z0-9_.]*+(?<![-_.])"
_DNS_LABEL: Final = _Name(
    _LABEL,
    _QUICK_LABEL,
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and {_ENDS}",
    "'my-name',  or '123-abc'",
    63,
    "characters",
)
_DNS_SUBDOMAIN: Final = _Name(
    rf"{_LABEL}(\.{_LABEL})*",
    rf"{_QUICK_LABEL}(?:\.{_QUICK_LABEL})*+",
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and {_ENDS}",
    "'example.com'",
    253,
    "characters",
)
_DNS_1035: Final = _Name(
    _LABEL_1035,
    "[a-z][-a-z0-9]*+(?<!-)",
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character",
    "'my-name',  or 'abc-123'",
    63,
    "characters",
)
_LABEL_VALUE: Final = _Name(
    f"({_KEY})?",
    f"(?:{_QUICK_KEY})?",
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and {_ENDS}",
    "'MyValue',  or 'my_value',  or '12345'",
    63,
    "bytes",
)
_KEY_NAME: Final = _Name(_KEY, _QUICK_KEY, _KEY_TEXT, "'MyName',  or 'my.name',  or '123-abc'", 63, "bytes")


def _problems_with_label(text: str) -> list[str]:
    found = _DNS_LABEL.problems(text)
    if found and found[-1] == _DNS_LABEL.mismatch and _DNS_SUBDOMAIN.matches(text):
        return [*found[:-1], "must not contain dots"]
    return found


def _as_prefix(problems: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A prefix may end with a dash: a generated name continues it."""

    def problems_with_prefix(text: str) -> list[str]:
        # The server replaces the character before the dash, too.
        return problems(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)

    return problems_with_prefix


def _problems_with_key(text: str) -> list[str]:
    parts = text.split("/")
    if len(parts) > 2:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_KEY_NAME.mismatch} {optional}"]
    found: list[str] = []
    if len(parts) == 2:
        prefix = _DNS_SUBDOMAIN.problems(parts[0]) if parts[0] else ["must be non-empty"]
        found += [f"prefix part {problem}" for problem in prefix]
    if not parts[-1]:
        found.append("name part must be non-empty")
    return found + [f"name part {problem}" for problem in _KEY_NAME.problems(parts[-1])]


def _problems_with_uri(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except ValueError as error:
        return [str(error)]
    return []


def _unless(is_valid: Callable[[str], bool], problem: str) -> Callable[[str], list[str]]:
    def problems(text: str) -> list[str]:
        return [] if is_valid(text) else [problem]

    return problems


def parse_base64(text: str) -> bytes | None:
    """Decode base64 as Go does: line breaks do not count. None if the text is invalid."""
    packed = text.replace("\r", "").replace("\n", "")
    try:
        return base64.b64decode(packed, validate=True)
    except ValueError:
        return None


def _is_date(text: str) -> bool:
    match = _DATE.match(text)
    if match is None:
        return False
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if not 1 <= month <= 12:
        return False
    leap = year % _LEAP_YEAR == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]
    return 1 <= day <= days


def parse_date_time(text: str) -> bool:
    """Whether a text is a date and time in the format ``date-time``; letters may be small."""
    date, separator, time = text.lower().partition("t")
    if not separator or not _is_date(date):
        return False
    match = _TIME.match(time)
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


_FORMATS: Final = {
    "dns1123Label": FormatValue("DNS1123Label", _problems_with_label, 30),
    "dns1123Subdomain": FormatValue("DNS1123Subdomain", _DNS_SUBDOMAIN.problems, 60),
    "dns1035Label": FormatValue("DNS1035Label", _DNS_1035.problems, 30),
    "qualifiedName": FormatValue("QualifiedName", _problems_with_key, 60),
    "dns1123LabelPrefix": FormatValue("DNS1123LabelPrefix", _as_prefix(_problems_with_label), 30),
    "dns1123SubdomainPrefix": FormatValue("DNS1123SubdomainPrefix", _as_prefix(_DNS_SUBDOMAIN.problems), 60),
    "dns1035LabelPrefix": FormatValue("DNS1035LabelPrefix", _as_prefix(_DNS_1035.problems), 30),
    "labelValue": FormatValue("LabelValue", _LABEL_VALUE.problems, 40),
    "uri": FormatValue("URI", _problems_with_uri, 1103),
    "uuid": FormatValue(
        "uuid", _unless(lambda text: _UUID.match(text) is not None, "does not match the UUID format"), 93
    ),
    "byte": FormatValue("byte", _unless(lambda text: parse_base64(text) is not None, "invalid base64"), 84),
    "date": FormatValue("date", _unless(_is_date, "invalid date"), 77),
    "datetime": FormatValue("datetime", _unless(parse_date_time, "invalid datetime"), 77),
}


def _validate(value: FormatValue, text: str) -> OptionalValue:
    problems = value.problems(text)
    return OptionalValue(problems) if problems else NONE


def _find_format(name: str) -> OptionalValue:
    found = _FORMATS.get(name)
    return NONE if found is None else OptionalValue(found)


def _constant(name: str, value: FormatValue) -> Function:
    return function(f"format.{name}", overload(f"format.{name}", (), FORMAT, lambda: value))


FUNCTIONS: Final[tuple[Function, ...]] = (
    function("validate", method("format-validate", (FORMAT, STRING), optional_of(list_of(STRING)), _validate)),
    function("format.named", overload("format-named", (STRING,), optional_of(FORMAT), _find_format)),
    *(_constant(name, value) for name, value in _FORMATS.items()),
)
