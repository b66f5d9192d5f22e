"""HTTP, and the only room that imports the HTTP library.

| module | what lives there |
|---|---|
| `contract` | what the rooms above know: `Request`, `Response`, `Transport`, `TlsSource` |
| `http` | `HttpTransport`: the contract over aiohttp |
| `body` | an answer and its body: read at once or as it comes, unpacked on the way |
| `failures` | what went wrong, in our words |
| `proxy`, `socks` | ways through a proxy |
| `sockets` | sockets that notice a dead peer |

The names below can be imported from here; each is imported when it is first used.
"""

from masthead.lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead.transport.contract import Request as Request
    from masthead.transport.contract import Response as Response
    from masthead.transport.contract import TlsSource as TlsSource
    from masthead.transport.contract import Transport as Transport
    from masthead.transport.http import HttpTransport as HttpTransport

_HOMES = {
    "Request": "masthead.transport.contract",
    "Response": "masthead.transport.contract",
    "TlsSource": "masthead.transport.contract",
    "Transport": "masthead.transport.contract",
    "HttpTransport": "masthead.transport.http",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
