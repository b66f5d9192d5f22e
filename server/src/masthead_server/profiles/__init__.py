"""Profiles: the initial contents of a kind of cluster, for ``run(like=...)``.

`profile.ClusterProfile` describes one, `registry.find_profile` finds it by name, `resolution.resolve` applies it to the
settings of a server, and `installation.install` stores its objects.
"""
