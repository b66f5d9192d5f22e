"""Support for tests: environments in which managers run, virtual time, and pytest fixtures.

`Environment` runs managers against an embedded server; `in_virtual_time` lets hours pass in no time. The fixtures are
in `masthead.testing.plugin`, which pytest loads by itself.

The names below can be imported from here; each is imported when it is first used.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead.testing._blocking import BlockingEnvironment as BlockingEnvironment
    from masthead.testing._blocking import BlockingReplica as BlockingReplica
    from masthead.testing._environment import Environment as Environment
    from masthead.testing._environment import NotSettledError as NotSettledError
    from masthead.testing._failures import UnexpectedFailureError as UnexpectedFailureError
    from masthead.testing._replica import Replica as Replica
    from masthead.testing._writes import Write as Write
    from masthead.testing.virtual_time import LoopClock as LoopClock
    from masthead.testing.virtual_time import VirtualLoop as VirtualLoop
    from masthead.testing.virtual_time import in_virtual_time as in_virtual_time

_HOMES = {
    "BlockingEnvironment": "masthead.testing._blocking",
    "BlockingReplica": "masthead.testing._blocking",
    "Environment": "masthead.testing._environment",
    "NotSettledError": "masthead.testing._environment",
    "UnexpectedFailureError": "masthead.testing._failures",
    "Replica": "masthead.testing._replica",
    "Write": "masthead.testing._writes",
    "LoopClock": "masthead.testing.virtual_time",
    "VirtualLoop": "masthead.testing.virtual_time",
    "in_virtual_time": "masthead.testing.virtual_time",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
