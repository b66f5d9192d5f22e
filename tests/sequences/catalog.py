"""Which sequences there are: the kinds that they write, and how often."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.sequences.builtin_kinds import CONFIG_MAP, DEPLOYMENT, OLD_SCALER, POD, SCALER, SERVICE
from tests.sequences.composer import Composer
from tests.sequences.custom_kinds import SHARED_GROUP, CustomKind, custom_kind

if TYPE_CHECKING:
    from tests.sequences.player import Player
    from tests.sequences.sequence import Sequence

SHARED_KINDS: list[CustomKind] = [
    custom_kind(Random(f"shared {number}"), group=SHARED_GROUP, singular=f"shared{number}") for number in range(8)
]
"""The custom resources whose definitions are there from the beginning."""
DEFINITIONS = [shared_kind.definition for shared_kind in SHARED_KINDS]
_BUILT_IN = [[CONFIG_MAP], [SERVICE], [DEPLOYMENT], [DEPLOYMENT], [POD], [SCALER, OLD_SCALER]]
_ATTEMPTS = 20


def compose(seed: object, player: Player) -> Sequence:
    """Compose a sequence and play it on the real server.

    Entries are sorted by their seconds, and the oldest of too many are joined. So that this does not depend on when
    requests are sent, a sequence is played within one second, unless it waits for definitions.

    Args:
        seed: What it is made from.
        player: The real server.

    Raises:
        TimeoutError: If the server is so slow that no attempt ends in the second that it began in.
    """
    for _ in range(_ATTEMPTS):
        composer = _composer(Random(str(seed)), player)
        made = composer.compose()
        if len(player.facts.times) <= 1 or composer.changes_definitions:
            return made
    raise TimeoutError(f"sequence {seed} takes longer than a second")


def _composer(random: Random, player: Player) -> Composer:
    choice = random.random()
    if choice < 0.6:
        return Composer(random, player, random.choice(_BUILT_IN))
    if choice < 0.85:
        return Composer(random, player, random.choice(SHARED_KINDS).versions)
    own = custom_kind(random, group="{name}.example.com", singular="thing")
    return Composer(random, player, own.versions, own)
