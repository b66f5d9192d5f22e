"""Record how a real server responds to sequences: ``python -m tests.sequences.record``."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.conformance.target import real_target
from tests.real_server import real_server_in
from tests.sequences.catalog import DEFINITIONS, compose
from tests.sequences.player import Player
from tests.sequences.recording import FILE, write

SEQUENCES = 320


def main() -> None:
    """Record all sequences anew."""
    with TemporaryDirectory() as state, real_server_in(Path(state)) as server:
        with closing(Player(real_target(server))) as player:
            player.prepare(DEFINITIONS)
            sequences = [compose(f"recorded-{number}", player) for number in range(SEQUENCES)]
        write(server.call("GET", "/version")["gitVersion"], DEFINITIONS, sequences)
    print(f"{len(sequences)} sequences in {FILE}", file=sys.stderr)


if __name__ == "__main__":
    main()
