"""The simulated kubelet: runs pods, with their logs, commands, probes, volumes and phases.

From the bottom up:

=======================  ====================================================================================
`stdio`                  the stdin of a command with back-pressure, its outputs, the size of its terminal
`process`                a command as its handler sees it, for coroutines and for plain functions
`handlers`               the choice of a handler for a command or probe
`streams`                the streams of a remote command over any transport, and the Status at their end
`websocket`              the streams of a remote command over a WebSocket
`records`                log records in the format of container runtimes, and how the log endpoint shows them
`logs`                   the log of a container: bounded, spooled to disk, followed without polling
`filesystem`             the files of a container: a tree in memory, bounded, with large files on disk
`shell`                  the built-in shell, for commands without a handler
`containers`             a container as the kubelet runs it: log, files and open streams
`pods`                   checks of a pod before the API server or the kubelet connects a client to it
`connect`                the seam to HTTP: connecters of subresources, and the handlers that they return
`ports`                  listeners on the ports of pods and nodes
`runtime`                the state shared by all endpoints: pods, containers, handlers, ports
`pod_observer`           reports the end of a pod to the clients connected to it
`first_completed`        runs coroutines until the first of them ends
`error_responses`        responses to refused requests: a Status, or plain text
`websocket_stream`       bytes in the messages of a WebSocket
`spdy`                   SPDY streams over a WebSocket or plain bytes
`spdy_upgrade`           negotiation of the protocol on SPDY streams
`spdy_command`           the streams of a remote command over SPDY
`portforward`            pairs of streams, and their connections to a port
`portforward_channels`   port-forward over the channels of a WebSocket
`portforward_endpoint`   ``pods/portforward``
`proxy_rules`            the changes of a proxy to requests and responses
`proxy_targets`          the listener behind a proxy request
`proxy_upgrade`          requests through a proxy that switch protocols
`proxy`                  ``pods/proxy``, ``services/proxy``, ``nodes/proxy``
`log_endpoint`           ``pods/log``
`attach`                 connects a client to the output and input of a main process
`remotecommand`          ``pods/exec`` and ``pods/attach``
`container_states`       the status of a container: waiting, running, terminated
`pod_phase`              the phase of a pod, derived from its containers
`conditions`             the conditions of a pod
`phases`                 the status of a pod in each phase
`nodes`                  the registration of nodes
`node_objects`           nodes and their status, as a kubelet writes them
`node_addresses`         the networks of nodes and pods
`node_controls`          `KubeletNodes`, the controls of the nodes
`pod_addresses`          the allocation of pod IPs
`events`                 the Events of pods and of the node
`environment`            the environment of containers
`image_names`            the names of images, as a kubelet parses them
`images`                 images that are pulled, and those that cannot be
`start_problems`         containers that cannot be created
`container_command`      commands that the kubelet runs in containers
`container_probe`        a probe as its handler sees it
`probe_rules`            the periods and thresholds of probes
`probe_run`              one run of a probe, with its timeout
`probe_checks`           what each probe does
`probe_worker`           a probe of a running container
`probes`                 the probes of all containers
`hooks`                  postStart and preStop
`termination`            the termination of pods within their grace period
`pod_host`               the host names of pods
`working_dir`            the working directories of containers
`main_process`           the main processes of containers
`skipped_scripts`        reports of scripts that the built-in shell cannot run
`restart_backoff`        delays of restarts
`pod_writer`             writes of the status of pods
`container_runs`         starts, ends and restarts of containers
`spec_changes`           changes in the spec of a running pod
`resizing`               decisions about in-place resizes
`pod_resizes`            performs in-place resizes
`lifecycle`              the life cycle of pods
`controller`             the reconciler that starts and ends every pod, if the server has a kubelet
`pod_names`              the names of pods and nodes in the calls of tests
`container_log`          `ContainerLog`, with which tests print to a log
`container_files`        `ContainerFiles`, a mapping from paths to contents
`connecter_table`        the connecter of each subresource, imported with its first request
`kubelet`                `Kubelet`, the controls for tests
=======================  ====================================================================================
"""
