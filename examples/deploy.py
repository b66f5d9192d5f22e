"""Deploy a folder of manifests: deploy.py NAMESPACE FOLDER [--yes]. Shows the change; with --yes, makes it.

What has gone from the folder since the last time is deleted.
"""

from __future__ import annotations

import sys
from pathlib import Path

import masthead


def deploy(client: masthead.Client, namespace: str, folder: Path, *, is_sure: bool) -> str:
    """Compare or deploy the manifests, and return what would change or has changed.

    Raises:
        ManifestError: If a manifest is invalid, is refused, or does not become ready; the message says which.
    """
    apply_set = f"configmaps/{folder.resolve().name}"
    if not is_sure:
        diff = client.diff_manifests(folder, namespace=namespace, apply_set=apply_set, field_manager="deploy")
        return diff.text() or "nothing would change\n"
    return client.apply_manifests(
        folder,
        namespace=namespace,
        apply_set=apply_set,
        prune=True,
        field_manager="deploy",
        wait=True,
        wait_timeout=300,
    ).text()


def main(arguments: list[str]) -> int:
    """Return 0 if everything is deployed and ready, and 1 otherwise."""
    namespace, folder, *more = arguments
    with masthead.Client() as client:
        try:
            print(deploy(client, namespace, Path(folder), is_sure="--yes" in more), end="")
        except masthead.MastheadError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
