"""HTTP/1.1 and WebSockets over asyncio: no other package of the server imports an HTTP library.

| module | contents |
|---|---|
| `headers` | header fields: case-insensitive, with several values for a name |
| `request_head` | the decisions about a parsed head: which requests are refused, and how long their bodies are |
| `request_parser` | bytes to heads and pieces of bodies, with llhttp (`httptools`) |
| `head_meter` | counts the bytes of heads, and of the framing around bodies |
| `request`, `request_body` | a request, its body as it arrives, and the ways to respond |
| `response` | heads of responses, their framing, and streamed bodies |
| `flow_control` | connections whose writers wait for a slow peer |
| `connection` | one client's connection: pipelining, timeouts, switches of protocols |
| `server` | all connections of a server |
| `byte_queue`, `byte_stream` | plain bytes behind a switch of protocols, and to a target |
| `frames`, `websocket` | frames of WebSockets; messages on a connection |
| `client` | requests to webhooks and through proxies |

Decisions are apart from I/O: `headers`, `request_head`, `head_meter`, `frames` and the heads in `response` know no
socket.
"""
