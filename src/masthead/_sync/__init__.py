"""The blocking façade: the classes and methods of `masthead.aio`, and no ``await``.

| module | contents |
|---|---|
| `portal`, `loops` | calls into an event loop that runs in another thread |
| `facade` | the base of every blocking class |
| `streams` | blocking iteration over async iterators |
| `lifecycle`, `wrap` | the bases of informers, registrations and factories |
| `elector_facade`, `leadership`, `recorder_facade` | the hand-written parts of electors and event recorders |
| `manager`, `reconcile_calls` | reconcilers and timers in threads |
| all others | generated from the async classes by `tools.facade` |
"""
