"""The built-in admission plugins, one module each, named as kube-apiserver names them."""
