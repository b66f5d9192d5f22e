"""The blocking façade: the classes and methods of `masthead.aio`, and no ``await``.

| module | what lives there |
|---|---|
| `portal` | the event loop in a thread of its own, and the way there and back |
| `streams` | iterating over what comes there |
| `facade` | what the classes stand on |
| `conflicts` | what calls callers back, in their own thread |
| `informer`, `registration` | informers, whose handlers have threads of their own |
| `factory`, `informers` | informers that a program shares |
| all others | generated from the async classes, by `tools.facade` |
"""
