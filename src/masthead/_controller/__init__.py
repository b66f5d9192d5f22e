"""Controllers and what runs them.

| module | contents |
|---|---|
| `bind_address`, `options` | how a manager runs, from code, environment and arguments |
"""
