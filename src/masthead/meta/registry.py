"""Kind ↔ class ↔ resource, looked up by name so that only the module that is needed is imported.

A package of generated types has an index of its modules and their kinds. The registry reads indexes, and imports a module
when one of its kinds is first looked up. Classes that are written by hand are registered one by one.

Kinds that Kubernetes no longer serves are in an index of their own. They are found by their full names, never by the name
of the kind alone, and are not listed.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._meta.registry import Registry as Registry
    from masthead._meta.registry import register as register
    from masthead._meta.registry import registry as registry

_HOMES = {
    "Registry": "masthead._meta.registry",
    "register": "masthead._meta.registry",
    "registry": "masthead._meta.registry",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
