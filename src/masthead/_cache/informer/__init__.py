"""Shared informers: a store that a reflector keeps current, and the dispatch of events to handlers."""
