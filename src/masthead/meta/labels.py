"""Label selectors: which objects are meant, by their labels.

::

    from masthead._meta import labels

    web = labels.parse("app=web, tier in (front,back), !legacy")
    web.matches({"app": "web", "tier": "front"})  # True
    str(web)  # "app=web,!legacy,tier in (back,front)"

The grammar, where spaces, tabs and line ends may stand between any two words and signs::

    selector     =  [ requirement { "," requirement } ]
    requirement  =  key                          the label is there
                 |  "!" key                      ... is not there
                 |  key ( "=" | "==" ) [ value ]
                 |  key "!=" [ value ]           ... has another value, or is not there
                 |  key "in" set
                 |  key "notin" set              ... has none of these values, or is not there
                 |  key ( ">" | "<" ) value      ... is an integer above or below this one
    set          =  "(" [ value ] { "," [ value ] } ")"

A value that is left out is the empty string.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._meta.labels import LabelSelectorLike as LabelSelectorLike
    from masthead._meta.labels import Operator as Operator
    from masthead._meta.labels import Requirement as Requirement
    from masthead._meta.labels import RequirementLike as RequirementLike
    from masthead._meta.labels import Selector as Selector
    from masthead._meta.labels import everything as everything
    from masthead._meta.labels import from_label_selector as from_label_selector
    from masthead._meta.labels import from_mapping as from_mapping
    from masthead._meta.labels import nothing as nothing
    from masthead._meta.labels import parse as parse

_HOMES = {
    "LabelSelectorLike": "masthead._meta.labels",
    "Operator": "masthead._meta.labels",
    "Requirement": "masthead._meta.labels",
    "RequirementLike": "masthead._meta.labels",
    "Selector": "masthead._meta.labels",
    "everything": "masthead._meta.labels",
    "from_label_selector": "masthead._meta.labels",
    "from_mapping": "masthead._meta.labels",
    "nothing": "masthead._meta.labels",
    "parse": "masthead._meta.labels",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
