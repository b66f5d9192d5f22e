"""An informer from start to synced: time, CPU and memory, beside the peers and client-go."""
