"""Define a kind, and work with typed objects of it: validate, create, watch with an informer, read from its lister.

The classes in ``widgets_api`` are generated from the definition::

    masthead generate --crd examples/widget_crd.yaml --out examples/widgets_api
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import masthead

if TYPE_CHECKING or __package__:
    from examples.widgets_api.example_com.v1 import Widget
else:  # run as a program
    from widgets_api.example_com.v1 import Widget

DEFINITION = Path(__file__).with_name("widget_crd.yaml")


def widgets_of(client: masthead.Client, namespace: str) -> list[str]:
    """Define widgets, create two, and describe them as an informer's lister has them."""
    [definition] = client.apply_manifests(DEFINITION, client_side=True)
    client.wait_until_served(Widget)
    widgets = client.resource(Widget, namespace)
    informer = masthead.SharedInformer(widgets)
    with informer:
        informer.wait_synced(timeout=60)
        for name, size in (("small", 1), ("large", 40)):
            widget = Widget.new(name, spec={"size": size, "parts": [{"name": "wheel", "weight": "2kg"}]})
            assert not masthead.validate(widget, definition)
            informer.wait_for(widgets.create(widget), timeout=60)
        found = informer.lister.namespace(namespace).list()
    return sorted(f"{each.metadata.name}: {each.spec.color}, {each.spec.parts[0].weight}" for each in found)


def problems_of(client: masthead.Client, widget: Widget) -> list[str]:
    """Say what the cluster would refuse about a widget, without sending it."""
    definition = client.apiextensions_v1.custom_resource_definitions().get("widgets.example.com")
    return [f"{each.field}: {each.message}" for each in masthead.validate(widget, definition)]


if __name__ == "__main__":
    with masthead.Client() as client:
        print("\n".join(widgets_of(client, "default")))
        print("\n".join(problems_of(client, Widget.new("blue", spec={"size": 40, "color": "blue"}))))
