#!/bin/sh
# Prints a kubeconfig with the token of the broker's ServiceAccount, for the cluster that kubectl talks to now. All in
# one file, as the broker wants it. Apply consumer.yaml, provider.yaml or coordination.yaml there first.
#
#   config/rbac/kubeconfig.sh homer >homer.kubeconfig                         (the current context)
#   KUBECONFIG=other.yaml config/rbac/kubeconfig.sh homer >homer.kubeconfig   (another one)
#
# The API server's address is that of the current context: where the broker reaches it by another, edit `server`.
set -eu

name=${1:?usage: kubeconfig.sh CLUSTER-NAME}
secret() { kubectl --namespace resource-broker-system get secret resource-broker-token --output "jsonpath={.data.$1}"; }

server=$(kubectl config view --minify --output 'jsonpath={.clusters[0].cluster.server}')
ca=$(secret 'ca\.crt')
token=$(secret token | base64 --decode)
if [ -z "$ca" ] || [ -z "$token" ]; then
    echo 'Secret resource-broker-system/resource-broker-token holds no token yet: try again in a moment' >&2
    exit 1
fi

cat <<EOF
apiVersion: v1
kind: Config
current-context: $name
contexts:
  - name: $name
    context: {cluster: $name, user: resource-broker, namespace: resource-broker-system}
clusters:
  - name: $name
    cluster:
      server: $server
      certificate-authority-data: $ca
users:
  - name: resource-broker
    user:
      token: $token
EOF
