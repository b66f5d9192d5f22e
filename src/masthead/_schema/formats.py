"""String formats that kube-apiserver checks. It ignores all others.

Each check is that of the server, with its quirks: an IPv4 address may have leading zeros, and an empty string is not
base64.
"""

from __future__ import annotations

import calendar
import ipaddress
import re
from typing import TYPE_CHECKING, Final

from masthead._regexp.pattern import compile_pattern
from masthead._schema.addresses import is_email, is_request_uri

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._schema.schema import Schema

__all__ = ["checked_format", "is_known", "string_format"]

_NUMBER_FORMATS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}


def checked_format(schema: Schema) -> str:
    """Return the format of a schema if the server checks it for this type, else an empty string."""
    return schema.format if is_known(schema.format, "" if schema.int_or_string else schema.type) else ""


def is_known(name: str, type_name: str) -> bool:
    """Whether the server checks a format for a type; an empty type means any or several types."""
    if type_name in _NUMBER_FORMATS:
        return name in _NUMBER_FORMATS[type_name]
    return type_name in {"", "string"} and name.replace("-", "") in _FORMATS


def string_format(name: str) -> Callable[[str], bool]:
    """Return the check of a format that is known."""
    return _FORMATS[name.replace("-", "")]


def _fully(pattern: str) -> Callable[[str], bool]:
    """Match a whole text. All of these patterns take linear time."""
    matches = re.compile(pattern, re.ASCII).fullmatch
    return lambda text: matches(text) is not None


_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_GO_DURATION: Final = _fully(r"[-+]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+|[-+]?0")
_QUANTITY_AND_UNIT: Final = re.compile(r"(?<![0-9])([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)")
_LONG_NUMBER: Final = re.compile(r"(?<![0-9.])[0-9]{19}")
_UNITS: Final = ("ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk")
_UNIT_PREFIXES: Final = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_MAX_DIGITS: Final = 19
_MAX_INT64: Final = 2**63 - 1


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    # Year 0 is a leap year to Go; Python's calendar begins later.
    return 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year or 4, month)[1]


def _is_date_time(text: str) -> bool:
    date, separator, rest = text.lower().partition("t")
    if not separator or not _is_date(date):
        return False
    # Another "t" and what follows it are not looked at.
    found = _TIME.fullmatch(rest.partition("t")[0])
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _is_duration(text: str) -> bool:
    if _GO_DURATION(text) and not _LONG_NUMBER.search(text):
        return True
    is_duration = False
    for quantity, unit in _QUANTITY_AND_UNIT.findall(text):
        if len(quantity.lstrip("0")) > _MAX_DIGITS or int(quantity) > _MAX_INT64:
            return False
        unit = unit.lower()  # noqa: PLW2901 - case does not matter
        is_duration = is_duration or unit in _UNITS or unit.startswith(_UNIT_PREFIXES)
    return is_duration


_IPV4: Final = re.compile(r"([0-9]{1,10})\.([0-9]{1,10})\.([0-9]{1,10})\.([0-9]{1,10})")
_MAX_ADDRESS_LENGTH: Final = 80
_HOSTNAME: Final = (
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)"
    r"|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
)


def _is_sloppy_ipv4(text: str) -> bool:
    """Leading zeros do not matter."""
    found = _IPV4.fullmatch(text)
    return found is not None and all(int(group) <= 255 for group in found.groups())


def _is_sloppy_ipv6(text: str) -> bool:
    if len(text) > _MAX_ADDRESS_LENGTH or "%" in text:
        return False
    before, dot, _ = text.partition(".")
    if dot:
        # The last part may be an IPv4 address.
        head, _, first = before.rpartition(":")
        if not head or not _is_sloppy_ipv4(text[len(text) - len(text[len(head) + 1 :]) :]) or not first:
            return False
        text = f"{head}:0:0"
    parts = [part.lstrip("0") or "0" if part else "" for part in text.split(":")]
    return _is_ip(":".join(parts), 6)


def _is_ip(text: str, version: int) -> bool:
    try:
        return "%" not in text and ipaddress.ip_address(text).version == version
    except ValueError:
        return False


def _is_ipv4(text: str) -> bool:
    if len(text) > _MAX_ADDRESS_LENGTH or "." not in text:
        return False
    dot, colon = text.find("."), text.find(":")
    return _is_sloppy_ipv4(text) if colon < 0 or dot < colon else _is_sloppy_ipv6(text)


def _is_ipv6(text: str) -> bool:
    return len(text) <= _MAX_ADDRESS_LENGTH and ":" in text and _is_ip(text, 6)


def _is_cidr(text: str) -> bool:
    address, slash, length = text.partition("/")
    if not slash or not length.isascii() or not length.isdigit() or len(length) > _MAX_ADDRESS_LENGTH:
        return False
    if _is_sloppy_ipv4(address):
        return int(length) <= 32
    return _is_sloppy_ipv6(address) and int(length) <= 128


def _is_hostname(text: str) -> bool:
    encoded = text.encode("utf-8", "surrogatepass")
    return (
        len(encoded) <= 255
        and all(len(part) <= 63 for part in encoded.split(b"."))
        and compile_pattern(_HOSTNAME).search(text)
    )


_HEX: Final = "[0-9a-fA-F]"
_is_mac: Final = _fully(
    "|".join(
        f"{_HEX}{{2}}(?:{separator}{_HEX}{{2}}){{{count - 1}}}" for separator in (":", "-", "") for count in (6, 8, 20)
    )
    + "|"
    + "|".join(rf"{_HEX}{{4}}(?:\.{_HEX}{{4}}){{{count // 2 - 1}}}" for count in (6, 8, 20))
)


_CARD: Final = _fully(
    "4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    "|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_NOT_DIGITS: Final = re.compile("[^0-9]+")
_SPACES_AND_DASHES: Final = re.compile(r"[\t\n\f\r -]+")
_ISBN_10: Final = _fully("[0-9]{9}[0-9X]")
_ISBN_13: Final = _fully("[0-9]{13}")
_SSN: Final = _fully("[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}")
_MAX_SSN_LENGTH: Final = 11


def _is_credit_card(text: str) -> bool:
    digits = _NOT_DIGITS.sub("", text)
    if not _CARD(digits):
        return False
    doubled = (int(digit) * 2 for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(number - 9 if number > 9 else number for number in doubled)) % 10 == 0


def _is_isbn_10(text: str) -> bool:
    digits = _SPACES_AND_DASHES.sub("", text)
    values = [10 if digit == "X" else int(digit) for digit in digits] if _ISBN_10(digits) else []
    return bool(values) and sum(place * digit for place, digit in enumerate(values, 1)) % 11 == 0


def _is_isbn_13(text: str) -> bool:
    digits = _SPACES_AND_DASHES.sub("", text)
    return _ISBN_13(digits) and sum(int(digit) * (1, 3)[place % 2] for place, digit in enumerate(digits)) % 10 == 0


def _is_ssn(text: str) -> bool:
    return len(text) == _MAX_SSN_LENGTH and _SSN(text)


def _uuid(third: str, fourth: str) -> Callable[[str], bool]:
    return _fully(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{third}-?{fourth}-?{_HEX}{{12}}")


_COLOR: Final = "(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])"
_SPACE: Final = r"[\t\n\f\r ]*"
_NAME: Final = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_is_short_name: Final = _fully(_NAME)
_is_long_name: Final = _fully(rf"{_NAME}(?:\.{_NAME})*")

_FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _fully(f"{_HEX}{{24}}"),
    "byte": _fully("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "cidr": _is_cidr,
    "creditcard": _is_credit_card,
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": is_email,
    "hexcolor": _fully(f"#?(?:{_HEX}{{3}}|{_HEX}{{6}})"),
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "isbn": lambda text: _is_isbn_10(text) or _is_isbn_13(text),
    "isbn10": _is_isbn_10,
    "isbn13": _is_isbn_13,
    "k8slongname": lambda text: len(text) <= 253 and _is_long_name(text),
    "k8sshortname": lambda text: len(text) <= 63 and _is_short_name(text),
    "mac": _is_mac,
    "password": lambda _text: True,
    "rgbcolor": _fully(rf"rgb\({_SPACE}{_COLOR}{_SPACE},{_SPACE}{_COLOR}{_SPACE},{_SPACE}{_COLOR}{_SPACE}\)"),
    "ssn": _is_ssn,
    "uri": is_request_uri,
    "uuid": _uuid(f"{_HEX}{{4}}", f"{_HEX}{{4}}"),
    "uuid3": _uuid(f"3{_HEX}{{3}}", f"{_HEX}{{4}}"),
    "uuid4": _uuid(f"4{_HEX}{{3}}", f"[89abAB]{_HEX}{{3}}"),
    "uuid5": _uuid(f"5{_HEX}{{3}}", f"[89abAB]{_HEX}{{3}}"),
}
