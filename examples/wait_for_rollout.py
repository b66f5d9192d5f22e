"""Wait until deployments are rolled out; the exit status is 1 if one is not, with the reason."""

from __future__ import annotations

import argparse
import sys

import masthead
from masthead import conditions


def wait_for_rollout(client: masthead.Client, namespace: str, name: str, *, seconds: float) -> str:
    """Wait for the rollout, and return a message.

    Raises:
        NotFoundError: If there is no such deployment.
        DeadlineError: If it takes too long; the message has the missing replicas.
    """
    deployments = client.apps_v1.deployments(namespace)
    deployments.get(name)  # wait_for would wait for a missing deployment
    deployments.wait_for(name, conditions.deployment_rolled_out(), timeout=seconds)
    return f"deployment {namespace}/{name} is rolled out"


def main(argv: list[str] | None = None) -> None:
    """Wait for one after the other; all are rolling out at the same time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="+", help="the deployments")
    parser.add_argument("-n", "--namespace", help="their namespace; the current one by default")
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="for each; 300 by default")
    arguments = parser.parse_args(argv)
    try:
        with masthead.Client(namespace=arguments.namespace) as client:
            for name in arguments.name:
                print(wait_for_rollout(client, client.namespace, name, seconds=arguments.timeout))
    except masthead.MastheadError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
