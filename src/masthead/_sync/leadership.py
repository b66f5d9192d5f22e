"""The leadership of one term, for work in threads."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from masthead._leaderelection.leadership import LeadershipView
from masthead._module import set_module

if TYPE_CHECKING:
    from masthead._leaderelection.leadership import TermState

__all__ = ["Leadership"]


@set_module("masthead.leaderelection")
class Leadership(LeadershipView):
    """The leadership of one term, for its work.

    Threads: may be shared by any number of threads.
    """

    def __init__(self, state: TermState) -> None:
        super().__init__(state)
        self._is_over = threading.Event()
        state.on_revoked.append(self._is_over.set)
        if state.reason:  # over before it began
            self._is_over.set()

    def wait_for_loss(self, timeout: float | None = None) -> bool:
        """Wait until the leadership is lost; return whether it is. Work waits here instead of sleeping.

        Args:
            timeout: Seconds to wait at most; None for no limit.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while self.is_valid:
            left = self.remaining if end is None else min(self.remaining, end - time.monotonic())
            if end is not None and left <= 0:
                return False
            self._is_over.wait(left)
        return True
