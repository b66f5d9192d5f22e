"""The longest pause of the event loop while an informer works."""
