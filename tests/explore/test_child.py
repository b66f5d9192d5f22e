"""A job in a forked process: its reply arrives, whenever the process ends."""

from __future__ import annotations

import os

import pytest

from masthead.testing._explore.child import run_in_child
from masthead.testing._explore.workers import CAN_FORK

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="needs fork")


def test_the_reply_of_a_child_that_ends_after_a_poll_is_read() -> None:
    start_in, start_out = os.pipe()

    def wait_for_start() -> str:
        os.read(start_in, 1)
        return "done"

    def let_the_child_end() -> bool:
        # Asked after a poll without a reply, and before the check of the child's end.
        os.write(start_out, b"!")
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        return False

    try:
        reply = run_in_child(wait_for_start, 30.0, let_the_child_end)
    finally:
        os.close(start_in)
        os.close(start_out)
    assert (reply.result, reply.failure) == ("done", "")
