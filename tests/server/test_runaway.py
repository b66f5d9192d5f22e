"""No request holds the event loop for long, or takes far more memory than its own size.

Time is CPU time of the loop's thread, and what costs too much is sent again a few times, of which the least counts: so
a busy machine does not matter. A slow one does, which is what the margin is for; ``make soak`` has none.
"""

from __future__ import annotations

import os

import pytest
from tests.server import runaway
from tests.server.metered_server import can_measure, metered

SECONDS = float(os.environ.get("MASTHEAD_FUZZ_SECONDS", "30"))
SEED = int(os.environ.get("MASTHEAD_FUZZ_SEED", "20261116"))
MARGIN = 4.0

pytestmark = pytest.mark.skipif(not can_measure(), reason="only Linux reports the peak memory of a process")


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 300)
def test_no_request_holds_the_loop_or_grows_memory_beyond_its_size() -> None:
    done = runaway.run(SECONDS, seed=SEED, margin=MARGIN)

    assert done.sent > 10
    assert not done.found, "\n".join(map(str, done.found))


@pytest.mark.slow
def test_the_meter_measures_the_cost_of_a_request() -> None:
    """Otherwise its measurements would mean nothing."""
    with metered() as server:
        sender = runaway.Sender(server)
        head = (
            "POST /api/v1/namespaces/default/configmaps?dryRun=All HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        )
        body = b'{"metadata":{"name":"a"},"data":{' + b",".join(b'"k%d":""' % n for n in range(30_000)) + b"}}"
        sent = f"{head}Authorization: Bearer let-me-in\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        cost, response = sender.cost(sent)
        small, _ = sender.cost(b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")

    assert response.startswith(b"HTTP/1.1 201")
    assert cost.hold > 10 * small.hold
    assert cost.hold > 0.002
    assert cost.growth > len(body)
