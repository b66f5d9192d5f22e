"""Which warnings of a request are sent as headers."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX: Final = 4096
"""How many characters the warnings of a response may have before they are cut."""
_MAX_WARNING_LENGTH: Final = 256
"""How many characters a warning keeps when they are."""
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
"""What a header cannot hold."""

ENOUGH: Final = 1_000
"""How many warnings about one matter are looked for; far more than can be sent."""
MAX_PAIRS: Final = 50_000
"""How many pairs of things that may get in each other's way are compared."""


def fit(texts: Iterable[str]) -> list[str]:
    """Choose the warnings to send: without duplicates, and within the limits.

    Args:
        texts: The warnings in the order in which they came up.
    """
    found = [fromkey for fromkey in dict.fromkeys(texts) if fromkey and not _CONTROL.search(fromkey)]
    return _cut(found) if sum(map(len, found)) > _MAX else found


def _cut(found: list[str]) -> list[str]:
    """Truncate all warnings, and drop those beyond the limit."""
    # The warnings up to and including the first to exceed the limit are sent, truncated.
    count = 1 + next(at for at, total in enumerate(accumulate(map(len, found))) if total > _MAX)
    kept = [item[:_MAX_WARNING_LENGTH] for item in found[:count]]
    written = sum(map(len, kept))
    for warning in found[count:]:
        if written >= _MAX:
            break
        kept.append(warning[:_MAX_WARNING_LENGTH])
        written += len(kept[-1])
    return kept
