"""Benchmarks: each runs as ``python -m benchmarks.NAME`` from the repository's root.

* ``decode``: time and memory per pod of a long list.
* ``startup``: the cost of importing the package, reading the first pod, and running a command, with kubectl.
* ``requests``: small calls, long lists and the price of the blocking façade, compared with the peers.
* ``sync``: an informer from start to synced: time, CPU and memory, compared with the peers and client-go.
* ``watch``: events a second through an informer, compared with the same.
* ``lookup``: reads from an informer's store.
* ``scaling``: how an informer's cost grows with the number of objects.
* ``stall``: the longest pause of the event loop during each step of an informer.
* ``recovery``: how soon a change is seen after idle timeouts, outages and silent connections, compared with
  client-go and kopf.
* ``schemas``: pruning, defaulting and validating custom resources.
* ``server``: the embedded API server under load, compared with kube-apiserver where it is installed.

A benchmark prints tables and, as its last line, the same figures as JSON. Figures over their target are marked, and do
not change its exit status. Peers are measured where they are installed
(``pip install 'masthead-k8s[peers]'``); nothing needs them.
"""
