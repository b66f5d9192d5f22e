"""The ``masthead`` command.

| module | contents |
|---|---|
| `targets` | the manager that ``package.module:app`` or ``app.py`` names |
| `reload` | starts a program again when its source files change |
| `manifests` | ``masthead manifests`` |
| `new` | ``masthead new`` |
| `run` | ``masthead run`` |
| `crds` | ``masthead crds`` |
| `main` | the entry point, which dispatches to the subcommands |
"""
