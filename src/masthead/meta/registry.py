"""Kind ↔ class ↔ resource, looked up by name so that only the module that is needed is imported.

A package of generated types has an index that says which module holds which kind. The registry reads indexes,
and imports a module when one of its kinds is asked for. Classes that were written by hand are added one by one.
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
