"""Count the images that the cluster's pods run."""

from __future__ import annotations

from collections import Counter

import masthead


def images_in_use(client: masthead.Client) -> Counter[str]:
    """How many containers run each image, init containers included."""
    counts: Counter[str] = Counter()
    for pod in client.core_v1.pods().iterate():  # a page at a time, whatever the cluster's size
        containers = [*pod.spec.init_containers, *pod.spec.containers]
        counts.update(each.image for each in containers if each.image)
    return counts


if __name__ == "__main__":
    with masthead.Client() as client:
        for image, count in images_in_use(client).most_common():
            print(f"{count:6} {image}")
