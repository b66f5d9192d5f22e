"""The batch controllers: CronJobs start Jobs, Jobs run pods until enough of them succeed, finished Jobs expire.

Modules without a controller hold pure decisions: they read a Job and its pods, and write nothing.
"""
