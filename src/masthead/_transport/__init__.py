"""HTTP/1.1 over asyncio. No other package imports an HTTP library.

| module | contents |
|---|---|
| `contract` | the interface of the package: `TransportRequest`, `TransportResponse`, `Transport`, `TlsSource` |
| `http` | `HttpTransport`: the implementation |
| `upgrade`, `websocket` | connections behind a 101; WebSockets on them |
| `request_head` | encodes request lines and headers |
| `connection` | one connection: requests and responses, timeouts and flow control |
| `coalescer` | larger reads of busy streams |
| `parser`, `incoming_response` | parses bytes into a response, and holds the arrived part |
| `body`, `decompression` | response bodies: read whole or streamed, decompressed step by step |
| `pool` | the connection pool |
| `dialer` | connects to a server; `proxy`, `tunnel` and `socks` through a proxy, `address` parses addresses |
| `sockets` | sockets with keepalive |
| `failures` | faults and their errors |

Parsing is llhttp's (`httptools`). The rest is our own, because no library exposes what a caller must know:
whether a byte of a response had arrived when a connection broke, and so whether a request may be retried;
whether a timeout expired in the pool, while connecting, or while reading. And because it is most of what a
small request costs: 31 microseconds of CPU for a ``GET`` on asyncio, 15 of them the loop's own, where
aiohttp's client session took 140.
"""
