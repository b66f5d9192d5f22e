"""The rules for names and label keys, in the API server's own words.

A rule takes a value and returns everything that is wrong with it; nothing if it is fine. `masthead._meta.names`
answers the same questions for the users of the client, in shorter words.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from masthead._meta.quoting import quoted
from masthead_server.wire.plain import Plain, part, text

Rule: TypeAlias = Callable[[str], list[str]]
"""Returns the problems of a value."""

NameRule: TypeAlias = Callable[[str, bool, Plain], list[str]]
"""Returns the problems of a name, given whether it is only a prefix, and the object."""
MAX_CACHED_LENGTH: Final = 256
"""Characters of the longest text whose findings are remembered; hardly any that is right is longer."""


@functools.lru_cache(maxsize=16_384)
def _fits(pattern: str, value: str) -> bool:
    """Whether a value fits; names come again and again, in every object of a workload."""
    return _matches(pattern, value)


def _matches(pattern: str, value: str) -> bool:
    return re.fullmatch(_QUICK.get(pattern, pattern), value) is not None


@dataclass(frozen=True, slots=True)
class Format:
    """A pattern with a limit of length.

    Attributes:
        pattern: The pattern as messages print it.
        words: The pattern in words.
        examples: What a message gives as examples.
        limit: How many bytes there may be.
        unit: What a message calls them; older rules say characters, and count bytes too.
    """

    pattern: str
    words: str
    examples: tuple[str, ...]
    limit: int
    unit: str

    def matches(self, value: str) -> bool:
        """Whether the pattern fits; the length is not looked at."""
        return (_fits if len(value) <= MAX_CACHED_LENGTH else _matches)(self.pattern, value)

    def too_long(self, value: str) -> list[str]:
        """What the length makes wrong."""
        # Most values are far from the limit, however many bytes their characters take.
        long = len(value) * 4 > self.limit and len(value.encode()) > self.limit
        return [f"must be no more than {self.limit} {self.unit}"] if long else []

    @property
    def mismatch(self) -> str:
        """Return the message about a value that does not match."""
        examples = " or ".join(f"'{example}', " for example in self.examples)
        return f"{self.words} (e.g. {examples}regex used for validation is '{self.pattern}')"

    def __call__(self, value: str) -> list[str]:
        """Say everything that is wrong with a value."""
        # One match decides nearly all values.
        if len(value) * 4 <= self.limit and self.matches(value):
            return []
        return self.too_long(value) + ([] if self.matches(value) else [self.mismatch])


_LABEL_PATTERN: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_KEY_PATTERN: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_ENDS: Final = "must start and end with an alphanumeric character"
_KEY_WORDS: Final = f"must consist of alphanumeric characters, '-', '_' or '.', and {_ENDS}"

_SEARCH_LABEL: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH_PATTERN: Final = rf"{_SEARCH_LABEL}(\.{_SEARCH_LABEL})*"

# The same sets of strings, matched in one pass: no character is looked at twice, however long the string is.
_QUICK_LABEL: Final = "[a-z0-9][-a-z0-9]*+(?<!-)"
_QUICK_KEY: Final = "[A-Za-z0-9][-A-Za-z0-9_.]*+(?<![-_.])"
_QUICK_SEARCH: Final = "_?[a-z0-9][-_a-z0-9]*+(?<![-_])"
_QUICK: Final = {
    _LABEL_PATTERN: _QUICK_LABEL,
    rf"{_LABEL_PATTERN}(\.{_LABEL_PATTERN})*": rf"{_QUICK_LABEL}(?:\.{_QUICK_LABEL})*+",
    "[a-z]([-a-z0-9]*[a-z0-9])?": "[a-z][-a-z0-9]*+(?<!-)",
    rf"\*\.{_LABEL_PATTERN}(\.{_LABEL_PATTERN})*": rf"\*\.{_QUICK_LABEL}(?:\.{_QUICK_LABEL})*+",
    "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?": "[A-Za-z][A-Za-z0-9_,:]*+(?<![,:])",
    _KEY_PATTERN: _QUICK_KEY,
    _SEARCH_PATTERN: rf"{_QUICK_SEARCH}(?:\.{_QUICK_SEARCH})*+",
    f"({_KEY_PATTERN})?": f"(?:{_QUICK_KEY})?",
}

SUBDOMAIN: Final = Format(
    rf"{_LABEL_PATTERN}(\.{_LABEL_PATTERN})*",
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and {_ENDS}",
    ("example.com",),
    limit=253,
    unit="characters",
)
LABEL: Final = Format(
    _LABEL_PATTERN,
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and {_ENDS}",
    ("my-name", "123-abc"),
    limit=63,
    unit="characters",
)
SEARCH_DOMAIN: Final = Format(
    _SEARCH_PATTERN,
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and {_ENDS}",
    ("example.com",),
    limit=253,
    unit="characters",
)
LABEL_1035: Final = Format(
    "[a-z]([-a-z0-9]*[a-z0-9])?",
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-',"
    " start with an alphabetic character, and end with an alphanumeric character",
    ("my-name", "abc-123"),
    limit=63,
    unit="characters",
)
LABEL_VALUE: Final = Format(
    f"({_KEY_PATTERN})?",
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and {_ENDS}",
    ("MyValue", "my_value", "12345"),
    limit=63,
    unit="bytes",
)
_KEY_NAME: Final = Format(_KEY_PATTERN, _KEY_WORDS, ("MyName", "my.name", "123-abc"), limit=63, unit="bytes")
LONG_NAME: Final = Format(SUBDOMAIN.pattern, SUBDOMAIN.words, SUBDOMAIN.examples, limit=253, unit="bytes")
_CONFIG_KEY: Final = Format(
    "[-._a-zA-Z0-9]+",
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    ("key.name", "KEY_NAME", "key-name"),
    limit=253,
    unit="characters",
)


def label(value: str) -> list[str]:
    """Return what keeps a value from being a DNS label."""
    if _PLAIN_LABEL.fullmatch(value):
        return []
    if LABEL.matches(value):
        return LABEL.too_long(value)
    mismatch = "must not contain dots" if SUBDOMAIN.matches(value) else LABEL.mismatch
    return [*LABEL.too_long(value), mismatch]


_PLAIN: Final = re.compile("[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PLAIN_LABEL: Final = re.compile("[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")


def is_plain(value: str) -> bool:
    """Tell at a glance that a value may be a key without a prefix, the value of a label, and a key of a ConfigMap.

    Nearly all are. A cache would not help: some objects have a hundred thousand different ones.
    """
    return _PLAIN.fullmatch(value) is not None


def is_plain_label(value: str) -> bool:
    """Tell at a glance that a value is a DNS label, and so a subdomain, too."""
    return _PLAIN_LABEL.fullmatch(value) is not None


def qualified_name(value: str) -> list[str]:
    """Return what keeps a value from being a key such as ``app`` or ``example.com/app``."""
    if is_plain(value):
        return []
    return list((_qualified_name if len(value) <= MAX_CACHED_LENGTH else _problems_with_key)(value))


@functools.lru_cache(maxsize=16_384)
def _qualified_name(value: str) -> tuple[str, ...]:
    return _problems_with_key(value)


def _problems_with_key(value: str) -> tuple[str, ...]:
    prefix, slash, name = value.partition("/")
    if "/" in name:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {_KEY_NAME.mismatch} {optional}",)
    if not slash:
        prefix, name = "", value
    found: list[str] = []
    if slash:
        found += [f"prefix part {entry}" for entry in (LONG_NAME(prefix) if prefix else ["must be non-empty"])]
    if not name:
        found.append("name part must be non-empty")
    return (*found, *(f"name part {item}" for item in _KEY_NAME(name)))


def path_segment(value: str, *, is_prefix: bool = False) -> list[str]:
    """Return what keeps a value from being one segment of a URL's path, or the beginning of one."""
    if value in {".", ".."} and not is_prefix:
        return [f"may not be '{value}'"]
    if "/" not in value and "%" not in value:
        return []
    return [f"may not contain '{sign}'" for sign in "/%" if sign in value]


def config_key(value: str) -> list[str]:
    """Return what keeps a value from being a key of a ConfigMap."""
    found = _CONFIG_KEY(value)
    if value in {".", ".."}:
        found.append(f"must not be '{value}'")
    elif value.startswith(".."):
        found.append("must not start with '..'")
    return found


def ip_address(value: str) -> list[str]:
    """Return what keeps a value from being an IP address in its canonical form."""
    # Go reads octets with leading zeros here, only to refuse them with a message of their own.
    stripped = re.sub(r"(?<![0-9a-fA-F:])0+(?=\d)", "", value) if re.fullmatch(r"[\d.]+", value) else value
    try:
        address = ipaddress.ip_address(stripped)
    except ValueError:
        address = None
    if address is None or "%" in value:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    if stripped != value:
        return ["must not have leading 0s"]
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return ["must not be an IPv4-mapped IPv6 address"]
    return [] if str(address) == value else [f"must be in canonical form ({quoted(str(address))})"]


def _mask_dash(name: str, is_prefix: bool) -> str:
    """Hide the dash at which a generated name is cut, as the server does: with the character before it."""
    return f"{name[:-2]}a" if is_prefix and len(name) > 1 and name.endswith("-") else name


def as_subdomain(name: str, is_prefix: bool, _: Plain) -> list[str]:
    """Most kinds: a DNS subdomain."""
    return [] if _PLAIN_LABEL.fullmatch(name) else SUBDOMAIN(_mask_dash(name, is_prefix))


def as_label(name: str, is_prefix: bool, _: Plain) -> list[str]:
    """Namespaces, Services, StatefulSets: a DNS label."""
    return label(_mask_dash(name, is_prefix))


def as_path_segment(name: str, _is_prefix: bool, _: Plain) -> list[str]:
    """RBAC's kinds: whatever fits into a URL."""
    return path_segment(name)


def as_url_part(name: str, is_prefix: bool, _: Plain) -> list[str]:
    """Kinds without a rule of their own: the server still refuses what does not fit into a URL."""
    return path_segment(name, is_prefix=is_prefix)


def as_anything(_name: str, _is_prefix: bool, _: Plain) -> list[str]:
    """CertificateSigningRequests: it does so with them too, but only when nothing else is wrong."""
    return []


def as_long_name(name: str, _is_prefix: bool, _: Plain) -> list[str]:
    """Kinds that are checked by generated rules: a DNS subdomain, whose length is counted in bytes."""
    return LONG_NAME(name)


def as_config_key(name: str, _is_prefix: bool, _: Plain) -> list[str]:
    """LeaseCandidates: a key of a ConfigMap."""
    return config_key(name)


def as_ip_address(name: str, _is_prefix: bool, _: Plain) -> list[str]:
    """IPAddresses are named by what they are."""
    return ip_address(name)


def as_cron_job(name: str, is_prefix: bool, _: Plain) -> list[str]:
    """CronJobs reserve characters for the suffix that is appended to the names of their Jobs."""
    found = as_subdomain(name, is_prefix, _)
    if not is_prefix and len(name.encode()) > 52:
        found.append("must be no more than 52 characters")
    return found


def as_storage_version(name: str, _is_prefix: bool, _: Plain) -> list[str]:
    """StorageVersions: a group and a resource."""
    group, dot, resource = name.rpartition(".")
    if not dot:
        return ["name must be in the form of <group>.<resource>"]
    found = [f"the group segment {item}" for item in SUBDOMAIN(group)]
    return found + [f"the resource segment {entry}" for entry in LABEL_1035(resource)]


def as_api_service(name: str, _is_prefix: bool, obj: Plain) -> list[str]:
    """APIServices: the version and the group that they serve."""
    if found := path_segment(name):
        return found
    spec = part(obj, "spec")
    wanted = f"{text(spec, 'version')}.{text(spec, 'group')}"
    return [] if name == wanted else [f'must be `spec.version+"."+spec.group`: {quoted(wanted)}']


def as_definition(name: str, is_prefix: bool, obj: Plain) -> list[str]:
    """CustomResourceDefinitions: the plural and the group of what they define."""
    spec = part(obj, "spec")
    wanted = f"{text(part(spec, 'names'), 'plural')}.{text(spec, 'group')}"
    found = as_subdomain(name, is_prefix, obj)
    return found if name == wanted else [*found, 'must be spec.names.plural+"."+spec.group']


def as_trust_bundle(name: str, is_prefix: bool, obj: Plain) -> list[str]:
    """ClusterTrustBundles begin with their signer's name, if they have one."""
    signer = text(part(obj, "spec"), "signerName")
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return as_subdomain(name, is_prefix, obj)
    # A name cannot contain the slash of a signer's name.
    prefix = signer.replace("/", ":") + ":"
    if not name.startswith(prefix):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"]
    return as_subdomain(name.removeprefix(prefix), is_prefix, obj)
