"""Wait until a deployment is rolled out: wait_for_rollout.py NAMESPACE NAME [SECONDS]."""

from __future__ import annotations

import sys

import masthead
from masthead import conditions


def wait_for_rollout(client: masthead.Client, namespace: str, name: str, *, seconds: float) -> str:
    """Wait for the rollout, and return a message.

    Raises:
        NotFoundError: If there is no such deployment.
        DeadlineError: If it takes too long; the message says what is missing.
    """
    deployments = client.apps_v1.deployments(namespace)
    deployments.get(name)  # wait_for would wait for a missing deployment
    deployments.wait_for(name, conditions.deployment_rolled_out(), timeout=seconds)
    return f"deployment {namespace}/{name} is rolled out"


def main(arguments: list[str]) -> int:
    """Return 0 if the deployment was rolled out in time, and 1 otherwise."""
    namespace, name, *more = arguments
    with masthead.Client() as client:
        try:
            print(wait_for_rollout(client, namespace, name, seconds=float(more[0]) if more else 300))
        except masthead.MastheadError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
