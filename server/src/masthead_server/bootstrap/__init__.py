"""The objects of every new cluster: roles, priorities, flow control, and the Service ``kubernetes``.

`objects.bootstrap_objects` lists them; `masthead_server.controllers.bootstrap` stores them, and restores the objects
that a running kube-apiserver restores.
"""
