"""Many informers on one kube-apiserver: sockets, memory, CPU, and a connection that stalls."""
