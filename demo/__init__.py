"""Informers at work: a cluster that misbehaves, and a mirror that stays true. ``python -m demo`` runs it.

| module | what it shows |
|---|---|
| `cluster` | an API server in this process, with faults on demand, that is restarted halfway |
| `story` | writing: pods and deployments come, change and go |
| `mirror` | reading: a factory, its informers, handlers and listers |
| `narrator` | lines from several threads, faults among them, in the order in which things happened |
| `verdict` | whether the mirror shows what the server has |
"""
