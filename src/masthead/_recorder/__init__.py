"""Records the informers of a factory.

::

    event loops                                   one thread
    ───────────                                   ──────────
    informer ──changes──> Feed ──┐
    informer ──changes──> Feed ──┴──> Backlog ──> PartWriter ──> recording.mhr, recording.mhr.2, ...
    manager ──reconciles─────────┘      └── full: changes are dropped and counted, then the state is recorded again

From the bottom up: ``lines`` (encoded objects), ``backlog`` (the queue, bounded in bytes), ``feeds`` (the changes of
one informer), ``parts`` (the files, and their rotation), ``recorder``.
"""
