"""The scripted kubelet: what pods print, what their commands do, and the phases that they go through.

From the bottom up:

=======================  ====================================================================================
`stdio`                  the stdin of a command with back-pressure, its outputs, the size of its terminal
`process`                a command as its handler sees it, for coroutines and for plain functions
`handlers`               which handler runs a command of which pod
`streams`                the streams of a remote command, whatever carries them, and the Status at their end
`websocket`              these streams over a WebSocket
`records`                log records in the format of container runtimes, and how the log endpoint shows them
`logs`                   the log of a container: bounded, spooled to disk, followed without polling
`filesystem`             the files of a container: a tree in memory, bounded, with large files on disk
`shell`                  the built-in shell, for commands without a handler
`containers`             a container as the kubelet runs it: log, files, and what ends with it
`pods`                   what the API server and the kubelet check of a pod before they connect a client to it
`connect`                the seam to HTTP: connecters of subresources, and the handlers that they return
`ports`                  what listens on the ports of pods and nodes
`runtime`                what all endpoints share: pods, containers, handlers, ports
`pod_observer`           reports the end of a pod to the clients connected to it
`first_completed`        runs coroutines until the first of them ends
`error_responses`        responses to refused requests: a Status, or plain text
`websocket_stream`       bytes in the messages of a WebSocket
`spdy`                   SPDY streams, over such a WebSocket or over plain bytes
`spdy_upgrade`           which protocol is spoken on these streams
`spdy_command`           the streams of a remote command over SPDY
`portforward`            pairs of streams, and the connections that they are forwarded to
`portforward_channels`   the same over the channels of a WebSocket
`portforward_endpoint`   ``pods/portforward``
`proxy_rules`            what a proxy changes in requests and responses
`proxy_targets`          where a proxy leads
`proxy_upgrade`          requests through a proxy that switch protocols
`proxy`                  ``pods/proxy``, ``services/proxy``, ``nodes/proxy``
`log_endpoint`           ``pods/log``
`attach`                 a client reads what a container prints, and writes to its main process
`remotecommand`          ``pods/exec`` and ``pods/attach``
`container_states`       the status of a container: waiting, running, terminated
`pod_phase`              the phase that follows from the containers
`conditions`             the conditions of a pod
`phases`                 the status of a pod as it moves on
`nodes`                  the nodes that pods run on: their registration
`node_objects`           nodes and their status, as a kubelet writes them
`node_addresses`         the networks of nodes and of their pods
`node_controls`          `KubeletNodes`, the controls of the nodes
`pod_addresses`          the addresses of pods, each used once
`events`                 the Events of pods and of the node
`environment`            the environment of containers
`images`                 images that cannot be pulled
`start_problems`         what keeps containers from being created
`container_command`      commands that the kubelet runs in containers
`container_probe`        a probe as its handler sees it
`probe_rules`            when a probe runs, and what its results mean
`probe_checks`           runs of probes
`probe_worker`           a probe of a running container
`probes`                 the probes of all containers
`hooks`                  postStart and preStop
`termination`            the end of pods, within their grace period
`main_process`           the main processes of containers
`restart_backoff`        delays of restarts
`pod_writer`             writes of the status of pods
`container_runs`         the runs of containers, and what follows their end
`spec_changes`           what has changed in the spec of a running pod
`resizing`               resizes in place: what they concern, and whether there is room
`pod_resizes`            resizes pods when their spec changes
`lifecycle`              moves pods through their phases
`controller`             does so for every pod, if the server is to have a kubelet
`container_log`          `ContainerLog`, to write to
`container_files`        `ContainerFiles`, a mapping
`connecter_table`        the connecter of each subresource, imported with its first request
`kubelet`                `Kubelet`, the controls of all this
=======================  ====================================================================================
"""
