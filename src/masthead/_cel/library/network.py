"""IP addresses and networks: ``ip('10.0.0.1')``, ``cidr('10.0.0.0/8')``."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._cel.declarations import Function, function, method, overload
from masthead._cel.errors import NO_OVERLOAD, EvaluationError
from masthead._cel.types import BOOL, CIDR, INT, IP, STRING
from masthead._cel.values import Opaque, Value
from masthead._meta.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FUNCTIONS", "CidrValue", "IpValue", "parse_address"]

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_HEX: Final = re.compile(r"[0-9a-fA-F]*")
_MAX_GROUP: Final = 4
_BITS: Final = re.compile(r"0|[1-9][0-9]{0,8}")


class IpValue(Opaque):
    """An IP address."""

    __slots__ = ("address",)

    type_name = "net.IP"

    def __init__(self, address: _Address) -> None:
        self.address = address

    def equals(self, other: Value) -> bool:
        """Whether the other is the same address.

        Raises:
            EvaluationError: If the other is no address.
        """
        if not isinstance(other, IpValue):
            raise EvaluationError(NO_OVERLOAD)
        return self.address == other.address

    @property
    def size(self) -> int:
        """Its bytes, for its cost."""
        return self.address.max_prefixlen // 8

    def __str__(self) -> str:
        return str(self.address)


class CidrValue(Opaque):
    """A network: an address in it, and the length of its prefix."""

    __slots__ = ("address", "bits")

    type_name = "net.CIDR"

    def __init__(self, address: _Address, bits: int) -> None:
        self.address = address
        self.bits = bits

    def equals(self, other: Value) -> bool:
        """Whether the other has the same address and length.

        Raises:
            EvaluationError: If the other is no network.
        """
        if not isinstance(other, CidrValue):
            raise EvaluationError(NO_OVERLOAD)
        return self.address == other.address and self.bits == other.bits

    @property
    def size(self) -> int:
        """The bytes of its prefix, for its cost."""
        # Rounded up: a prefix of 9 bits has two bytes.
        return -(-self.bits // 8)

    def masked(self) -> CidrValue:
        """Return it with the first address of the network."""
        network = ipaddress.ip_network((self.address, self.bits), strict=False)
        return CidrValue(network.network_address, self.bits)

    def contains(self, address: _Address) -> bool:
        """Whether an address is in the network."""
        # Addresses of the two families are never in each other's networks.
        if address.version != self.address.version:
            return False
        shift = self.address.max_prefixlen - self.bits
        return int(address) >> shift == int(self.address) >> shift

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"


def parse_address(text: str) -> tuple[_Address, str]:
    """Read an IP address as Go does.

    Returns:
        The address, and its zone.

    Raises:
        ValueError: If the text is invalid, with Go's message.
    """
    for character in text:
        if character == ".":
            return ipaddress.IPv4Address(_parse_octets(text, text)), ""
        if character == ":":
            return _parse_v6(text)
        if character == "%":
            raise _address_error(text, "missing IPv6 address")
    raise _address_error(text, "unable to parse IP")


def _address_error(text: str, message: str, at: str = "") -> ValueError:
    where = f" (at {quoted(at)})" if at else ""
    return ValueError(f"ParseAddr({quoted(text)}): {message}{where}")


def _parse_octets(text: str, octets: str) -> bytes:
    """Four numbers from 0 to 255, and the errors in the order in which Go finds them."""
    values: list[int] = []
    digits = ""
    for index, character in enumerate(octets):
        if character in "0123456789":
            # An octet with a leading zero might be meant as octal.
            if digits == "0":
                raise _address_error(text, "IPv4 field has octet with leading zero")
            digits += character
            if int(digits) > 255:
                raise _address_error(text, "IPv4 field has value >255")
        elif character == ".":
            if not digits or index == len(octets) - 1:
                raise _address_error(text, "IPv4 field must have at least one digit", octets[index:])
            if len(values) == 3:
                raise _address_error(text, "IPv4 address too long")
            values.append(int(digits))
            digits = ""
        else:
            raise _address_error(text, "unexpected character", octets[index:])
    if len(values) < 3:
        raise _address_error(text, "IPv4 address too short")
    return bytes([*values, int(digits)])


def _parse_v6(text: str) -> tuple[_Address, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _address_error(text, "zone must be a non-empty string")
    # The position of ``::`` in bytes; negative without one.
    ellipsis = -1
    if rest.startswith("::"):
        ellipsis = 0
        rest = rest[2:]
    groups = b""
    while rest and len(groups) < 16:
        digits = _hex_digits(text, rest)
        behind = rest[len(digits) :]
        # The digits belong to an embedded IPv4 address, which is read from its beginning.
        if behind.startswith("."):
            groups += _embedded_v4(text, rest, len(groups), has_ellipsis=ellipsis >= 0)
            rest = ""
            break
        groups += int(digits, 16).to_bytes(2, "big")
        rest = behind
        if not rest:
            break
        rest = _behind_colon(text, rest)
        if rest.startswith(":"):
            if ellipsis >= 0:
                raise _address_error(text, "multiple :: in address", rest)
            ellipsis = len(groups)
            rest = rest[1:]
    if rest:
        raise _address_error(text, "trailing garbage after address", rest)
    return ipaddress.IPv6Address(_expand(text, groups, ellipsis)), zone


def _hex_digits(text: str, rest: str) -> str:
    match = _HEX.match(rest)
    digits = match.group() if match else ""
    if len(digits) > _MAX_GROUP:
        raise _address_error(text, "each group must have 4 or less digits", rest)
    if not digits:
        raise _address_error(text, "each colon-separated field must have at least one digit", rest)
    return digits


def _embedded_v4(text: str, rest: str, at: int, *, has_ellipsis: bool) -> bytes:
    if not has_ellipsis and at != 12:
        message = "embedded IPv4 address must replace the final 2 fields of the address"
        raise _address_error(text, message, rest)
    if at > 12:
        message = "too many hex fields to fit an embedded IPv4 at the end of the address"
        raise _address_error(text, message, rest)
    return _parse_octets(text, rest)


def _behind_colon(text: str, rest: str) -> str:
    if not rest.startswith(":"):
        raise _address_error(text, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _address_error(text, "colon must be followed by more characters", rest)
    return rest[1:]


def _expand(text: str, groups: bytes, ellipsis: int) -> bytes:
    missing = 16 - len(groups)
    if missing and ellipsis < 0:
        raise _address_error(text, "address string too short")
    # ``::`` in a complete address would stand for no zeros at all.
    if not missing and ellipsis >= 0:
        raise _address_error(text, "the :: must expand to at least one field of zeros")
    return groups[:ellipsis] + bytes(missing) + groups[ellipsis:] if missing else groups


def _is_mapped(address: _Address) -> bool:
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None


def to_ip(text: str) -> IpValue:
    """Read an IP address.

    Raises:
        EvaluationError: If the text is invalid, has a zone, or is an IPv4 address in IPv6.
    """
    try:
        address, zone = parse_address(text)
    except ValueError as error:
        raise EvaluationError(f"IP Address {quoted(text)} parse error during conversion from string: {error}") from None
    if zone:
        raise EvaluationError(f"IP address {quoted(text)} with zone value is not allowed")
    if _is_mapped(address):
        raise EvaluationError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return IpValue(address)


def _parse_prefix(text: str) -> CidrValue:
    head, slash, bits = text.rpartition("/")
    if not slash:
        raise ValueError("no '/'")
    address, zone = parse_address(head)
    if zone:
        raise ValueError("IPv6 zones cannot be present in a prefix")
    if not _BITS.fullmatch(bits):
        raise ValueError(f"bad bits after slash: {quoted(bits)}")
    if int(bits) > address.max_prefixlen:
        raise ValueError("prefix length out of range")
    return CidrValue(address, int(bits))


def to_cidr(text: str) -> CidrValue:
    """Read a network.

    Raises:
        EvaluationError: If the text is invalid, or an IPv4 network in IPv6.
    """
    context = "network address parse error during conversion from string: "
    try:
        network = _parse_prefix(text)
    except ValueError as error:
        # The server's message has the prefix twice.
        raise EvaluationError(f"{context}{context}netip.ParsePrefix({quoted(text)}): {error}") from None
    if _is_mapped(network.address):
        raise EvaluationError(f"{context}IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return network


def _is_valid(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def is_valid(text: str) -> bool:
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return is_valid


def _is_global_unicast(value: IpValue) -> bool:
    address = value.address
    if address == ipaddress.IPv4Address(0xFFFFFFFF) or address.is_unspecified:
        return False
    return not (address.is_loopback or address.is_multicast or _is_link_local_unicast(value))


def _is_link_local_unicast(value: IpValue) -> bool:
    return value.address in _LINK_LOCAL[value.address.version]


_LINK_LOCAL: Final = {4: ipaddress.ip_network("169.254.0.0/16"), 6: ipaddress.ip_network("fe80::/10")}


def _is_link_local_multicast(value: IpValue) -> bool:
    address = value.address
    if isinstance(address, ipaddress.IPv4Address):
        return address in _LOCAL_MULTICAST
    packed = address.packed
    return packed[0] == 0xFF and packed[1] & 0x0F == 0x02


_LOCAL_MULTICAST: Final = ipaddress.ip_network("224.0.0.0/24")


def _contains_ip_text(network: CidrValue, text: str) -> bool:
    try:
        return network.contains(to_ip(text).address)
    except EvaluationError:
        # The server does not say why.
        raise EvaluationError(NO_OVERLOAD) from None


def _contains_cidr(network: CidrValue, other: CidrValue) -> bool:
    return network.bits <= other.bits and network.contains(other.address)


FUNCTIONS: Final[tuple[Function, ...]] = (
    function(
        "ip",
        overload("string_to_ip", (STRING,), IP, to_ip),
        method("cidr_ip", (CIDR,), IP, lambda network: IpValue(network.address)),
    ),
    function("family", method("ip_family", (IP,), INT, lambda value: value.address.version)),
    function(
        "ip.isCanonical",
        overload("ip_is_canonical", (STRING,), BOOL, lambda text: str(to_ip(text)) == text),
    ),
    function("isUnspecified", method("ip_is_unspecified", (IP,), BOOL, lambda value: value.address.is_unspecified)),
    function("isLoopback", method("ip_is_loopback", (IP,), BOOL, lambda value: value.address.is_loopback)),
    function("isLinkLocalMulticast", method("ip_is_link_local_multicast", (IP,), BOOL, _is_link_local_multicast)),
    function("isLinkLocalUnicast", method("ip_is_link_local_unicast", (IP,), BOOL, _is_link_local_unicast)),
    function("isGlobalUnicast", method("ip_is_global_unicast", (IP,), BOOL, _is_global_unicast)),
    function("isIP", overload("is_ip", (STRING,), BOOL, _is_valid(to_ip))),
    function(
        "string",
        overload("ip_to_string", (IP,), STRING, str),
        overload("cidr_to_string", (CIDR,), STRING, str),
    ),
    function("cidr", overload("string_to_cidr", (STRING,), CIDR, to_cidr)),
    function(
        "containsIP",
        method(
            "cidr_contains_ip_string",
            (CIDR, STRING),
            BOOL,
            _contains_ip_text,
        ),
        method("cidr_contains_ip_ip", (CIDR, IP), BOOL, lambda network, value: network.contains(value.address)),
    ),
    function(
        "containsCIDR",
        method(
            "cidr_contains_cidr_string",
            (CIDR, STRING),
            BOOL,
            lambda network, text: _contains_cidr(network, to_cidr(text)),
        ),
        method("cidr_contains_cidr", (CIDR, CIDR), BOOL, _contains_cidr),
    ),
    function("prefixLength", method("cidr_prefix_length", (CIDR,), INT, lambda network: network.bits)),
    function("masked", method("cidr_masked", (CIDR,), CIDR, CidrValue.masked)),
    function("isCIDR", overload("is_cidr", (STRING,), BOOL, _is_valid(to_cidr))),
)
