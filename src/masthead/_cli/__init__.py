"""The ``masthead`` command.

| module | contents |
|---|---|
| `main` | the entry point, which dispatches to the subcommands |
"""
