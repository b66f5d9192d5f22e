"""Profiles: what a cluster of a certain kind has from its start, for ``run(like=...)``.

`profile.ClusterProfile` describes one, `registry.find_profile` finds it by name, `resolution.resolve` applies it to the
settings of a server, and `installation.install` stores its objects.
"""
