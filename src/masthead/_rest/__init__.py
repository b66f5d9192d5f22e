"""The REST client: authentication, rate limiting, retries, timeouts and errors of one API call.

| module | contents |
|---|---|
| `call` | an API call as a value, and its subject for error messages |
| `paths`, `headers` | request paths and headers |
| `client` | `RestClient`: makes calls, and retries them where that is safe |
| `rate_limiter` | the client-side rate limit, and deadlines |
| `response`, `response_stream` | responses: read at once, or streamed |
| `proxied` | responses of what is behind the API server's proxy |
| `write_observer`, `call_guard` | the writes of a reconcile, and whether it may still make calls |
| `warning_handler` | warnings of the server |
| `settings` | the settings of a client |
| `connect` | from a configuration to a client |
"""
