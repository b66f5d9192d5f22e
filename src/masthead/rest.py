"""The REST client: authentication, rate limiting, retries, timeouts and errors of one API call.

The names below can be imported from here; each is imported when it is first used.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._rest.call import Call as Call
    from masthead._rest.call import Subject as Subject
    from masthead._rest.client import RestClient as RestClient
    from masthead._rest.connect import connect as connect
    from masthead._rest.rate_limiter import RateLimit as RateLimit
    from masthead._rest.response import Response as Response
    from masthead._rest.response_stream import ResponseStream as ResponseStream
    from masthead._rest.settings import RestSettings as RestSettings
    from masthead._sansio.warnings import ServerWarning as ServerWarning

_HOMES = {
    "Response": "masthead._rest.response",
    "Call": "masthead._rest.call",
    "Subject": "masthead._rest.call",
    "RestClient": "masthead._rest.client",
    "RestSettings": "masthead._rest.settings",
    "ResponseStream": "masthead._rest.response_stream",
    "connect": "masthead._rest.connect",
    "RateLimit": "masthead._rest.rate_limiter",
    "ServerWarning": "masthead._sansio.warnings",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
