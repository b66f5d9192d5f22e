"""Field selectors: which objects are meant, by a few fields that the server has indexed.

::

    from masthead._meta import fields

    pods = fields.parse("spec.nodeName=node-1,status.phase!=Running")
    pods.matches({"spec.nodeName": "node-1", "status.phase": "Pending"})  # True

Which fields there are is the server's choice, per resource; ``metadata.name`` and ``metadata.namespace`` are
always among them. The terms ``field=value``, ``field==value`` and ``field!=value`` are separated by commas, and
nothing is trimmed. Within a value, a comma, an equals sign and a backslash have a backslash before them.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._meta.fields import FieldRequirement as FieldRequirement
    from masthead._meta.fields import FieldSelector as FieldSelector
    from masthead._meta.fields import everything as everything
    from masthead._meta.fields import one as one
    from masthead._meta.fields import parse as parse

_HOMES = {
    "FieldRequirement": "masthead._meta.fields",
    "FieldSelector": "masthead._meta.fields",
    "everything": "masthead._meta.fields",
    "one": "masthead._meta.fields",
    "parse": "masthead._meta.fields",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
