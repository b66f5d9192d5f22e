"""The REST client: authentication, rate limiting, retries, timeouts and errors of one API call.

| module | contents |
|---|---|
| `call` | an API call as a value, and its subject for error messages |
| `paths`, `headers` | request paths and headers |
| `client` | `RestClient`: the public verbs, and the reading of responses |
| `prepared_call` | the request of a call, built once for all of its attempts |
| `attempts` | sends one attempt: rate limit, credentials, request, failure |
| `retry_loop`, `deadline` | repeats attempts where that is safe, within the call's timeout |
| `authenticator`, `lifetime` | the client's credentials, and the waits that its close ends |
| `rate_limiter` | the client-side rate limit |
| `response`, `response_stream` | responses, read whole or streamed |
| `proxied` | responses of backends behind the API server's proxy |
| `write_observer`, `call_observer`, `call_guard` | the writes of a reconcile, and whether it may still make calls |
| `warning_handler` | warnings of the server |
| `settings` | the settings of a client |
| `connect` | from a configuration to a client |
"""
