"""A small HTTP/1.1 server for the endpoints of a manager.

| module | contents |
|---|---|
| `bind_address` | addresses to listen on |
| `http_requests` | heads of requests and encoded responses, without I/O |
| `http_limits` | the limits of a server |
| `http_server` | the server: plain or TLS, with or without request bodies |
"""
