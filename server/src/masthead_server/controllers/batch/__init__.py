"""The batch controllers: Jobs get pods until enough of them succeed, and finished Jobs expire.

Modules without a controller decide: they read a Job and its pods, and write nothing.
"""
