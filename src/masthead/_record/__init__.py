"""The event recorder: writes Events about objects, in the background.

::

    record() ─> references (which object?) ─> buffer (any thread: correlator, queue) ─> sender (a task) ─> sink ─> server

========== ====================================================================
references  from an object to a reference, and the checks of arguments
bodies      the JSON of Events, in ``events.k8s.io/v1`` and core/v1
sink        one write; which API the server has; what a failure means
buffer      accepts occurrences from any thread, hands out writes
sender      the background task
recorder    `EventRecorder`
========== ====================================================================

What becomes of an occurrence is decided in `masthead._sansio.event_correlation`, when it is written in
`masthead._sansio.event_writes`.
"""
