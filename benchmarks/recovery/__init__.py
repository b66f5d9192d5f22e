"""How soon a change is seen after the connection to the API server has failed."""
