"""The page of ``masthead ui``: a cluster, live or recorded, with a time axis.

From the bottom up: ``history`` (what the page reads, whatever is behind it), ``recorded_history`` (a recording),
``live_history`` (the last changes of a cluster, bounded, in memory), ``masking`` (values of Secrets), ``digests`` (what
tables and trees need of an object), ``tables``, ``owner_lines`` (the tree), ``time_axis``, ``details``, ``sessions``
(the token, and who may ask), ``files`` (the static files), ``service`` (the answers), ``server`` (the HTTP server),
``followed_cluster`` (informers that feed a live history), and ``manager_page`` (a manager's caches and reconciles).
"""
