"""Factories: the informers that a program shares, by kind, namespace and selectors."""
