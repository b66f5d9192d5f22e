"""A cluster like kind's: a control plane made by kubeadm, kindnet, and volumes of local-path.

Facts are those of kind with Kubernetes 1.36: `nodes`, `control_plane` (static pods and leases), `kubeadm`
(configuration and roles), `cluster_dns`, `node_agents` (kube-proxy and kindnet) and `local_path`.
"""
