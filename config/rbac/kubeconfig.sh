#!/bin/sh
# Prints a kubeconfig with the token of the broker's ServiceAccount in a cluster, all inline, as the broker wants it.
# Apply consumer.yaml, provider.yaml or coordination.yaml there first.
#
#   config/rbac/kubeconfig.sh CONTEXT >homer.kubeconfig
#
# CONTEXT is kubectl's. The API server's address is taken from it: where the broker reaches it by another, edit `server`.
set -eu

context=${1:?usage: kubeconfig.sh CONTEXT}
kube() { kubectl --context "$context" "$@"; }
secret() { kube --namespace resource-broker-system get secret resource-broker-token --output "jsonpath={.data.$1}"; }

server=$(kube config view --minify --output 'jsonpath={.clusters[0].cluster.server}')
ca=$(secret 'ca\.crt')
token=$(secret token | base64 --decode)
if [ -z "$ca" ] || [ -z "$token" ]; then
    echo 'Secret resource-broker-system/resource-broker-token holds no token yet: try again in a moment' >&2
    exit 1
fi

cat <<EOF
apiVersion: v1
kind: Config
current-context: broker
contexts:
  - name: broker
    context: {cluster: broker, user: resource-broker, namespace: resource-broker-system}
clusters:
  - name: broker
    cluster:
      server: $server
      certificate-authority-data: $ca
users:
  - name: resource-broker
    user:
      token: $token
EOF
