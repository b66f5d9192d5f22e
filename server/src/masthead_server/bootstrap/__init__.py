"""What every cluster has from its first moment: roles, priorities, flow control, and the Service ``kubernetes``.

`objects.bootstrap_objects` lists them; `masthead_server.controllers.bootstrap` stores them, and restores those that a
running kube-apiserver restores.
"""
