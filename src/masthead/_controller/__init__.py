"""Controllers and what runs them.

| module | contents |
|---|---|
| `log_values`, `logs`, `log_formatters` | controller, object and reconcile id in every log line; JSON and text |
| `bind_address`, `options` | how a manager runs, from code, environment and arguments |
| `signals` | SIGTERM and SIGINT: a graceful stop, then an immediate one |
"""
