"""Finding those who change what a cache shares.

An object of a cache belongs to everybody who reads it. Who changes one changes it for all others, and the cache no longer
says what the server sent. Because every stored object has its bytes, that can be found out exactly: decode anew and compare.
"""

from __future__ import annotations

import logging
import os
import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from masthead._meta.field_decoder import split_fields
from masthead.errors import ConfigError, DecodeError, InvalidValueError, MutationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from msgspec import Raw

    from masthead._meta.object import Object

__all__ = ["VARIABLE", "changed_sections", "check", "find", "is_on", "log_mutations"]

_log: Final = logging.getLogger("masthead.cache")

VARIABLE: Final = "MASTHEAD_MUTATION_DETECTOR"
"""The environment variable that turns the detector on."""

_VALUES: Final = {"1": True, "true": True, "": False, "0": False, "false": False}
_NAMED: Final = 5
"""How many keys a message names."""
_KIND: Final = frozenset({"apiVersion", "kind"})
_SECTION: Final = re.compile(r"[.\[]")


def is_on(enabled: bool | None = None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to look for changes: as wished, and without a wish as the environment says.

    Raises:
        ConfigError: If the environment says something else than yes or no.
    """
    if enabled is not None:
        return enabled
    value = environment.get(VARIABLE, "")
    try:
        return _VALUES[value.strip().lower()]
    except KeyError:
        raise ConfigError(f'{VARIABLE} is "{value}"; set it to 1 or 0, or unset it') from None


def log_mutations(error: MutationError, *, informer: str = "") -> None:
    """Log what was changed, where another error is already on its way to the caller."""
    _log.error("%s%s", f"informer {informer}: " if informer else "", error)


def find(pairs: Iterable[tuple[str, Object]]) -> Iterator[tuple[str, Object]]:
    """Those that were changed since they came, with their keys.

    Takes about as long for each as to decode what was read of it. An object without bytes counts as changed; holdings
    hold none.
    """
    return ((key, obj) for key, obj in pairs if obj.is_modified())


def changed_sections(obj: Object) -> tuple[str, ...]:
    """What was changed in an object since it came: ``metadata``, ``spec`` and so on, by their names on the wire.

    Empty if nothing was, and if it was made here: then there is nothing to compare with.
    """
    source = obj.wire_bytes
    if source is None:
        return ()
    before = split_fields(source)
    try:
        after = split_fields(obj.to_json())
    except DecodeError as error:  # something was put into it that does not fit
        return (_SECTION.split(error.path)[0],)
    except InvalidValueError:
        return ()
    unsaid = _KIND - before.keys()  # an item gets its kind from its list
    names = sorted((before.keys() | after.keys()) - unsaid)
    # What was not changed is written as it came.
    return tuple(name for name in names if _bytes(before, name) != _bytes(after, name))


def _bytes(parts: Mapping[str, Raw], name: str) -> bytes:
    return bytes(parts.get(name, b""))


def _describe(key: str, obj: Object) -> str:
    sections = changed_sections(obj)
    return f"{key} ({', '.join(sections)})" if sections else key


def check(pairs: Iterable[tuple[str, Object]]) -> None:
    """Make sure that the objects of a cache are unchanged.

    Args:
        pairs: Keys and objects, all of them or some.

    Raises:
        MutationError: If some were changed; its ``keys`` names them all.
    """
    found = dict(find(pairs))
    if not found:
        return
    named = ", ".join(_describe(key, obj) for key, obj in islice(found.items(), _NAMED))
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    raise MutationError(
        f"objects of a cache were changed: {named}{more}. Everybody shares them; change a copy instead: obj.copy()",
        keys=tuple(found),
    )
