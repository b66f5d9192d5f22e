"""The event recorder: writes Events about objects, in the background.

::

    record() ─> references (the object) ─> buffer (any thread: correlator, queue) ─> sender (a task) ─> sink ─> server

========== ====================================================================
references  from an object to a reference, and the checks of arguments
bodies      the JSON of Events, in ``events.k8s.io/v1`` and core/v1
sink        one write; the choice of the API; the meaning of failures
buffer      accepts occurrences from any thread, hands out writes
sender      the background task
recorder    `EventRecorder`
========== ====================================================================

`masthead._sansio.event_correlation` turns occurrences into Events; `masthead._sansio.event_writes`
schedules the writes.
"""
