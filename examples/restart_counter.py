"""Print a line whenever a container is restarted, with the reason; Ctrl-C ends it."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

import masthead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead.api.core.v1 import Pod


def restarts_between(old: Pod, new: Pod) -> Iterator[str]:
    """Compare two states of a pod. The counts tell also what happened while the connection was broken."""
    before = {
        container_status.name: container_status.restart_count for container_status in old.status.container_statuses
    }
    for status in new.status.container_statuses:
        if status.restart_count > before.get(status.name, 0):
            ended = status.last_state.terminated
            reason = f"{ended.reason}, exit code {ended.exit_code}" if ended else "reason unknown"
            yield f"{new.key} {status.name}: restart {status.restart_count}, {reason}"


def restart_counter(
    client: masthead.Client, namespace: str | None, report: Callable[[str], object]
) -> masthead.SharedInformer[Pod]:
    """Make an informer that reports each restart, in a namespace or in all, as long as it runs."""

    def compare(old: Pod, new: Pod) -> None:  # called in another thread
        for line in restarts_between(old, new):
            report(line)

    informer = masthead.SharedInformer(client.core_v1.pods(namespace))
    informer.add_event_handler(on_update=compare)
    return informer


def main() -> None:
    """Print restarts until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", "--namespace", help="only this namespace")
    arguments = parser.parse_args()
    try:
        with masthead.Client() as client:
            restart_counter(client, arguments.namespace, partial(print, flush=True)).run()
    except masthead.MastheadError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
