"""Define a kind and work with typed objects of it: validate, create, follow with an informer, change, delete.

The classes in ``widgets_api`` are generated from the definition::

    masthead generate --crd examples/widgets/crd.yaml --out examples/widgets/widgets_api
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from widgets_api.example_com.v1 import Widget

import masthead

DEFINITION = Path(__file__).with_name("crd.yaml")


def define(client: masthead.Client) -> None:
    """Install the definition, and wait until its kind is served."""
    client.apply_manifests(DEFINITION, field_manager="widgets")
    client.wait_for_kind(Widget)


def problems_of(widget: Widget) -> list[str]:
    """What a server would refuse, by schema and CEL rules; nothing is sent."""
    [definition] = masthead.load_manifests(DEFINITION)
    return [f"{each.field}: {each.message}" for each in masthead.crd.validate(widget, definition)]


def demonstrate(client: masthead.Client, namespace: str) -> None:
    """Create two widgets, see them in an informer's cache, let one grow, and delete both."""
    widgets = client.resource(Widget, namespace)
    with masthead.SharedInformer(widgets) as informer:
        cached = informer.lister.namespace(namespace)
        for name, size in (("small", 1), ("large", 40)):
            made = widgets.create(Widget.new(name, spec={"size": size, "parts": [{"name": "wheel", "weight": "2kg"}]}))
            informer.wait_for_version(made, timeout=60)  # read your own writes
        for each in sorted(cached.list(), key=lambda each: each.spec.size):
            print(f"{each.metadata.name}: size {each.spec.size}, {each.spec.color}, {each.spec.parts[0].weight}")

        def grow(widget: Widget) -> None:
            widget.spec.size += 1

        informer.wait_for_version(widgets.update_with_retry("small", grow), timeout=60)
        print(f"small: size {cached.get('small').spec.size}")
        for name in ("small", "large"):
            widgets.delete(name)


def main() -> None:
    """Go through all of it; the definition stays."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--namespace", help="for the widgets; the current one by default")
    try:
        with masthead.Client(namespace=parser.parse_args().namespace) as client:
            define(client)
            demonstrate(client, client.namespace)
            print(*problems_of(Widget.new("blue", spec={"size": 40, "color": "blue"})))
    except masthead.MastheadError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
