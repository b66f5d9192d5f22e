"""Authorization: what a user may do. From the bottom up: `authorizer` (what decides), `always_allow`."""
