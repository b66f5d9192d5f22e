"""Port-forward: connections to the ports of pods, through the API server.

::

    local socket <── Splice ──> PodTunnel ── WebSocket ──> API server ──> kubelet ──> port of the pod
    your asyncio streams ────────────┘ one per connection, with one SPDY session of two streams

From the bottom up:

- `port_specs`: the ports and addresses that callers give.
- `backends`: which pod is behind a service or a workload, and which of its ports.
- `stream_pair`: the data and the error stream of one connection; pure.
- `tunnel`: one connection as an asyncio transport.
- `splice`: two transports, connected to each other.
- `pod_client`: requests to the API server.
- `resolver`: finds the pod.
- `pod_dialer`: opens tunnels to the pod, and follows it when it is replaced.
- `listeners`: the local sockets.
- `connection`: a connection for asyncio, or as a socket for any library.
- `forward`: listeners whose connections are forwarded.
"""
