"""Other projects' tests against the embedded server: ``python -m tools.peers``, which is ``make peers``.

For each suite, pip installs the released project by its name into a separate environment, a server starts, and the
project's own tests run with ``KUBECONFIG`` in their environment. Tests come from the sdist where it contains them, and
from a clone in ``PEERS=folder`` where it does not. Nothing of a suite is edited, or kept in this repository.

- ``suites.py``: the suites, their requirements and options
- ``sources.py``: tests from an sdist or a clone
- ``environments.py``: an environment for each suite
- ``cluster.py``: a server for a suite, and what its images do
- ``results.py``: results from JUnit's XML, and the reasons of failures in ``reasons.toml``
- ``report.py``: ``docs/peers.md``
- ``stand_ins/``: pytest plugins that stand in for what a suite would start, such as kind
"""
