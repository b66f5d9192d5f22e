"""The verbs of the API, and `rest`, which dispatches requests to them."""
