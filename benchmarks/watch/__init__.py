"""Events per second through an informer, beside the same."""
