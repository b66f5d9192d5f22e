"""Runs other projects' tests against the embedded server: ``python -m tools.peers``, or ``make peers``.

For each suite, pip installs the released project into a separate environment, a server starts, and the project's own
tests run with ``KUBECONFIG`` in their environment. Tests come from the sdist, or from a clone in ``PEERS=folder`` if
the sdist does not contain them. No test is edited or copied to this repository.

- ``suites.py``: the suites, their requirements and options
- ``sources.py``: tests from an sdist or a clone
- ``environments.py``: an environment for each suite
- ``cluster.py``: a server for a suite
- ``images.py``: handlers for the images of the suites
- ``results.py``: results from JUnit's XML, and the reasons of failures in ``reasons.toml``
- ``report.py``: ``docs/peers.md``
- ``stand_ins/``: pytest plugins that stand in for what a suite would start, such as kind
"""
