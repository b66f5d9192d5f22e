"""The scripted kubelet: what pods print, what their commands do, and the phases that they go through.

From the bottom up:

==================  ====================================================================================
`stdio`             the stdin of a command with back-pressure, its outputs, the size of its terminal
`process`           a command as its handler sees it, for coroutines and for plain functions
`handlers`          which handler runs a command of which pod
`streams`           the streams of a remote command, whatever carries them, and the Status at their end
`websocket`         these streams over a WebSocket
`records`           log records in the format of container runtimes, and how the log endpoint shows them
`logs`              the log of a container: bounded, spooled to disk, followed without polling
`containers`        a container as the kubelet runs it: log, files and sessions
`pods`              what the API server and the kubelet check of a pod before they connect a client to it
`connect`           the seam to HTTP: connecters of subresources, and the handlers that they return
`log_endpoint`      ``pods/log``
`remotecommand`     ``pods/exec`` and ``pods/attach``
`phases`            the status of a pod in each phase
`kubelet`           `Kubelet`, the controls of all this
==================  ====================================================================================
"""
