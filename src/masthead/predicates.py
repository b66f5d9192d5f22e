"""Predicates of controllers: which changes of watched objects lead to a reconcile.

::

    spec_or_annotations = masthead.predicates.generation_changed | masthead.predicates.annotations_changed

    @app.controller(Website, predicate=spec_or_annotations)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Website], site: Website) -> None: ...

A predicate does not shrink the cache: the objects are still listed, watched and stored. For that, use selectors.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._controller.predicates import ChangeEvent as ChangeEvent
    from masthead._controller.predicates import Predicate as Predicate
    from masthead._controller.predicates import always as always
    from masthead._controller.predicates import annotations_changed as annotations_changed
    from masthead._controller.predicates import fields_changed as fields_changed
    from masthead._controller.predicates import generation_changed as generation_changed
    from masthead._controller.predicates import labels_changed as labels_changed
    from masthead._controller.predicates import metadata_changed as metadata_changed
    from masthead._controller.predicates import when as when

_HOMES = dict.fromkeys(
    (
        "ChangeEvent",
        "Predicate",
        "always",
        "annotations_changed",
        "fields_changed",
        "generation_changed",
        "labels_changed",
        "metadata_changed",
        "when",
    ),
    "masthead._controller.predicates",
)

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
