"""Small calls, long lists and the blocking façade's overhead, beside the peers."""
