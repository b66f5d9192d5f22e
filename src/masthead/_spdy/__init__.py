"""SPDY/3.1 as Kubernetes speaks it, below port-forward and below the streams of older kubectl releases.

Pure: bytes go in, events and bytes come out. Both the client and the embedded server use it; moby/spdystream, which
kubectl and the kubelet use, is what it has to agree with.

- `errors`: `SpdyError`, which is all that a peer can cause.
- `dictionary`: the words that header compression starts with.
- `header_blocks`: headers, compressed and bounded.
- `frames`: the frames, and their encoding.
- `decoder`: frames from any split of the bytes.
- `events`: what a session reports.
- `session`: streams: opened, answered, half-closed, reset.
"""
