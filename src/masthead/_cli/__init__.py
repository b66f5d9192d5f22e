"""The ``masthead`` command.

| module | what lives there |
|---|---|
| `main` | the command itself, which hands over to the one that is named |
"""
