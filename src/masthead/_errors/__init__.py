"""Every error that masthead raises; `masthead.errors` exports them.

| module | contents |
|---|---|
| `base` | `MastheadError` and the errors of the client's side |
| `field_manager_conflicts` | the conflicts of a refused server-side apply |
| `status` | `StatusError` and its subclasses, one per reason of a ``Status`` |
| `port_forward` | `PortForwardError` |
| `logs` | `LogStreamError` |
| `proxy` | `ProxyResponseError` |
| `copies` | `CopyError` |
| `options` | keywords that a call does not take |
| `facades` | ``with`` of an async class, ``async with`` of a blocking one |
| `advice` | next steps for failures whose reason alone is too general |
"""
