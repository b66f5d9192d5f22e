"""One call of the API, correctly: who we are, how often, how long, and what a failure means.

| module | what lives there |
|---|---|
| `call` | a call as a value, and what it is about |
| `paths`, `headers` | what goes over the wire beside the body |
| `client` | `RestClient`: makes calls, again where that is safe |
| `rate_limiter` | who may go when, and who waits |
| `response`, `response_stream` | what comes back: read to its end, or while it comes |
| `warning_handler` | what the server warns of, and who is told |
| `settings` | how a client behaves |
| `connect` | from a configuration to a client |
"""
