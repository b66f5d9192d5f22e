"""Values that the names and formats of fields suggest."""

from __future__ import annotations

import re
from typing import Final, TypeVar

__all__ = ["FORMAT_SAMPLES", "is_port", "is_scale", "suggest_strings", "suspect_strings", "words_of"]

V = TypeVar("V")

FORMAT_SAMPLES: Final = {
    "bsonobjectid": ("0123456789abcdef01234567", "76543210fedcba9876543210"),
    "byte": ("YQ==", "YWJj"),
    "cidr": ("10.0.0.0/8", "192.168.0.0/16"),
    "creditcard": ("4111111111111111", "5555555555554444"),
    "date": ("2026-01-01", "2027-12-31"),
    "datetime": ("2026-01-01T00:00:00Z", "2027-12-31T23:59:59Z"),
    "duration": ("30s", "5m"),
    "email": ("a@example.com", "b@example.com"),
    "hexcolor": ("#ff0000", "#00ff00"),
    "hostname": ("example.com", "shop.example.com"),
    "ipv4": ("10.0.0.1", "192.168.1.1"),
    "ipv6": ("fd00::1", "fd00::2"),
    "isbn": ("0306406152", "9780306406157"),
    "isbn10": ("0306406152", "0131103628"),
    "isbn13": ("9780306406157", "9780131103627"),
    "k8slongname": ("alpha.example", "beta.example"),
    "k8sshortname": ("alpha", "beta"),
    "mac": ("00:00:5e:00:53:01", "00:00:5e:00:53:02"),
    "rgbcolor": ("rgb(255,0,0)", "rgb(0,255,0)"),
    "ssn": ("123-45-6789", "987-65-4321"),
    "uri": ("https://example.com/", "https://shop.example.com/a"),
    "uuid": ("123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-42d3-a456-426614174001"),
    "uuid3": ("123e4567-e89b-32d3-a456-426614174000", "123e4567-e89b-32d3-a456-426614174001"),
    "uuid4": ("123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-42d3-a456-426614174001"),
    "uuid5": ("123e4567-e89b-52d3-a456-426614174000", "123e4567-e89b-52d3-a456-426614174001"),
}
"""Valid strings of the formats that the server checks; names without hyphens."""

_SCALE_WORDS: Final = frozenset(
    {"copies", "count", "instances", "members", "nodes", "parallelism", "replicas", "shards", "size", "workers"}
)
_QUANTITIES: Final = (("cpu", ("100m", "1")), ("memory", ("64Mi", "1Gi")), ("storage", ("1Gi", "2Gi")))
_SUGGESTIONS: Final = (
    *_QUANTITIES,
    ("image", ("nginx:1", "nginx:2")),
    ("schedule", ("0 3 * * *", "*/5 * * * *")),
    ("cron", ("0 3 * * *", "*/5 * * * *")),
    ("host", ("example.com", "shop.example.com")),
    ("hostname", ("example.com", "shop.example.com")),
    ("domain", ("example.com", "shop.example.com")),
    ("url", ("https://example.com/", "https://shop.example.com/a")),
    ("uri", ("https://example.com/", "https://shop.example.com/a")),
    ("endpoint", ("https://example.com/", "https://shop.example.com/a")),
    ("email", ("a@example.com", "b@example.com")),
    ("version", ("1.0.0", "1.1.0")),
    ("tag", ("1.0.0", "1.1.0")),
    ("namespace", ("default",)),
    ("timezone", ("Etc/UTC", "Europe/Berlin")),
    ("interval", ("30s", "5m")),
    ("timeout", ("30s", "5m")),
    ("duration", ("30s", "5m")),
    ("period", ("30s", "5m")),
    ("ttl", ("30s", "5m")),
    ("path", ("/", "/data")),
    ("port", ("http", "https")),
    ("capacity", ("1Gi", "2Gi")),
    ("size", ("1Gi", "2Gi")),
)
_SUSPECTS: Final = (
    ("image", "does-not-exist:0"),
    ("schedule", "61 25 * * *"),
    ("cron", "61 25 * * *"),
    ("cpu", "1000k"),
    ("memory", "1000Pi"),
    ("storage", "1000Pi"),
    ("host", "does-not-exist.invalid"),
    ("hostname", "does-not-exist.invalid"),
    ("domain", "does-not-exist.invalid"),
    ("url", "https://does-not-exist.invalid/"),
    ("uri", "https://does-not-exist.invalid/"),
    ("endpoint", "https://does-not-exist.invalid/"),
    ("version", "0.0.0-does-not-exist"),
    ("tag", "0.0.0-does-not-exist"),
    ("interval", "0s"),
    ("timeout", "0s"),
    ("secret", "missing-secret"),
    ("map", "missing-config-map"),
    ("claim", "missing-claim"),
    ("class", "missing-class"),
    ("account", "missing-account"),
    ("namespace", "missing-namespace"),
    ("ref", "missing-object"),
    ("reference", "missing-object"),
)
# These words occur in fields of any meaning.
_VAGUE: Final = frozenset({"key", "name", "value"})


def words_of(names: tuple[str, ...]) -> list[str]:
    """Return the words of a field's name, the most telling first: ``tlsSecretName`` is ``secret``, then ``tls``.

    Args:
        names: The names of the field and, before it, of the fields that contain it.
    """
    words: list[str] = []
    for name in reversed(names[-2:]):
        # An acronym is a single word: `TLSSecret` is `tls` and `secret`.
        parts = [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
        words += [part for part in reversed(parts) if part not in _VAGUE]
        # The parent field matters only for vague names.
        if words:
            break
    return words


def suggest_strings(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return good values of a string field; empty if its name suggests none."""
    return _find(_SUGGESTIONS, words_of(names)) or ()


def suspect_strings(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return values of a string field that a schema accepts, and a cluster cannot satisfy."""
    found = _find(_SUSPECTS, words_of(names))
    return () if found is None else (found,)


def is_scale(names: tuple[str, ...]) -> bool:
    """Whether a number field is a count of things."""
    # Only the most telling word: `sizeLimit` is a limit, not a count.
    return any(word in _SCALE_WORDS for word in words_of(names)[:1])


def is_port(names: tuple[str, ...]) -> bool:
    """Whether a number field is a port."""
    return "port" in words_of(names)


def _find(table: tuple[tuple[str, V], ...], words: list[str]) -> V | None:
    known = dict(table)
    # The plural names a list of the same things.
    return next((known[form] for word in words for form in (word, word.removesuffix("s")) if form in known), None)
