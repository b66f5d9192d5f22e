"""Webhooks of a manager: admission and conversion.

| module | contents |
|---|---|
| `requests`, `denials` | the request that a function decides about, and refusals |
| `declarations`, `conversions` | declared webhooks and conversions |
| `reviews`, `conversion_reviews`, `json_patch` | reviews on the wire, and the patch of a mutation |
| `function_calls` | calls of the functions, on the loop or in threads |
| `admission`, `conversion_handler` | answers to reviews |
| `server` | the HTTPS server |
"""
