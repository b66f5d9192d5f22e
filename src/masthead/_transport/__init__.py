"""HTTP/1.1, and the only room that knows how it is spoken.

| module | what lives there |
|---|---|
| `contract` | what the rooms above know: `Request`, `Response`, `Transport`, `TlsSource` |
| `http` | `HttpTransport`: the contract, over what follows |
| `heads` | the head of a request, as it goes over the wire |
| `connection` | one connection: requests out, answers in, limits of time and of memory |
| `parsing`, `answer` | bytes in, a response out; what has come of it so far |
| `body`, `unpacking` | what a caller reads: at once or as it comes, unpacked on the way, in steps |
| `pool` | connections in use, idle ones, and who waits for one |
| `dialing` | ways to a server; `proxy`, `tunnel`, `socks` lead through a proxy, `address` says where it is |
| `sockets` | sockets that notice a dead peer |
| `failures` | what went wrong, in our words |

Parsing is llhttp's (`httptools`). The rest is by hand, because no library tells what a caller must know: whether a
byte of a response had come when a connection broke, and so whether a request may be sent again; whether time was lost in
line, while connecting, or in silence. And because it is most of what a small request costs: 31 microseconds of CPU for a
``GET`` on asyncio, 15 of them the loop's own, where aiohttp's client session took 140.
"""
