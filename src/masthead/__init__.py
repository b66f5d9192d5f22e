"""Kubernetes for Python.

What is offered here is imported when it is first used: ``import masthead`` by itself costs next to nothing.
Types of the API live in ``masthead.api``, one module per group and version; the words that they share in
``masthead.meta``; every error in ``masthead.errors``.
"""

from masthead.lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead.errors import MastheadError as MastheadError
    from masthead.errors import StatusError as StatusError
    from masthead.meta.gvk import GroupVersionKind as GroupVersionKind
    from masthead.meta.gvk import GroupVersionResource as GroupVersionResource
    from masthead.meta.object import Object as Object
    from masthead.meta.object import ObjectList as ObjectList
    from masthead.meta.quantity import Quantity as Quantity
    from masthead.meta.registry import register as register
    from masthead.meta.unstructured import Unstructured as Unstructured

__version__ = "0.1.0"

_HOMES = {
    "MastheadError": "masthead.errors",
    "StatusError": "masthead.errors",
    "GroupVersionKind": "masthead.meta.gvk",
    "GroupVersionResource": "masthead.meta.gvk",
    "Object": "masthead.meta.object",
    "ObjectList": "masthead.meta.object",
    "Quantity": "masthead.meta.quantity",
    "register": "masthead.meta.registry",
    "Unstructured": "masthead.meta.unstructured",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
