"""ResourcePoolStatusRequests."""
