"""Benchmarks: each runs as ``python -m benchmarks.NAME`` from the repository's root.

* ``decode``: time and memory per pod of a long list.
* ``startup``: what it costs to import the package and to read the first pod.
* ``requests``: small calls, long lists and the blocking façade's price, beside the peers.
* ``sync``: an informer from start to synced: time, CPU and memory, beside the peers and client-go.
* ``watch``: events a second through an informer, beside the same.
* ``lookup``: reads from an informer's store.
* ``scaling``: how an informer's cost grows with the number of objects.
* ``stall``: the longest pause of the event loop during each step of an informer.
* ``recovery``: how soon a change is seen after idle timeouts, outages and silent connections, beside client-go and
  kopf.
* ``schemas``: pruning, defaulting and validating custom resources.
* ``server``: the embedded API server under load, beside kube-apiserver where that is at hand.

A benchmark prints tables and, as its last line, the same figures as JSON. It reports, and its exit status says
nothing: figures over their target are marked. Peers are measured beside us where they are installed
(``pip install 'masthead-k8s[peers]'``); nothing needs them.
"""
