"""The vocabulary of the API."""
