"""The parts of event recorders: the limits of correlation, what was counted, and recorders of one object.

`masthead.aio.EventRecorder` and `masthead.EventRecorder` record Events.

The names below can be imported from here; each is imported when it is first used.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._record.buffer import EventCounts as EventCounts
    from masthead._record.recorder import ObjectEventRecorder as ObjectEventRecorder
    from masthead._record.references import HasReference as HasReference
    from masthead._sansio.event_limits import CorrelatorOptions as CorrelatorOptions

_HOMES = {
    "EventCounts": "masthead._record.buffer",
    "ObjectEventRecorder": "masthead._record.recorder",
    "HasReference": "masthead._record.references",
    "CorrelatorOptions": "masthead._sansio.event_limits",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
