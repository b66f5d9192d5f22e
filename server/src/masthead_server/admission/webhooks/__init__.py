"""Admission webhooks: servers of the user that change or refuse requests.

From the bottom up: `webhook` (one entry of a configuration), `configurations` (all of them),
`versioned_objects` (objects in the version that a webhook asks for), `review` (AdmissionReviews), `call` (one call and
its errors), `mutating` and `validating` (all calls of a request), `plugins` (the two plugins).
"""
