#!/bin/sh
# Prints a kubeconfig with the token of the broker's ServiceAccount in a cluster, all inline, as the broker wants it; or,
# with --secret, the labelled Secret for the coordination cluster that makes it a cluster of the broker. Apply
# consumer.yaml, provider.yaml, spoke.yaml, compute.yaml or coordination.yaml in the cluster first.
#
#   config/rbac/kubeconfig.sh CONTEXT >homer.kubeconfig
#   config/rbac/kubeconfig.sh --secret homer --role consumer CONTEXT | kubectl --context hub apply --server-side -f -
#
# CONTEXT is kubectl's. Options:
#   --secret NAME     print a Secret of this name, which is also the name of the cluster
#   --role ROLE       consumer, provider or spoke: what the cluster is (with --secret)
#   --namespace NAME  namespace of the Secret (default resource-broker-clusters; --cluster-secrets-namespace)
#   --server URL      address at which the broker reaches the API server, where that is not the one of CONTEXT
set -eu

account_namespace=resource-broker-system
token_secret=resource-broker-token

fail() {
    echo "kubeconfig.sh: $1" >&2
    exit 1
}
usage() {
    echo "kubeconfig.sh: $1" >&2
    echo 'usage: kubeconfig.sh [--secret NAME --role consumer|provider|spoke [--namespace NAME]] [--server URL] CONTEXT' >&2
    exit 2
}

context='' secret='' role='' namespace='' server=''
while [ $# -gt 0 ]; do
    case $1 in
    --secret | --role | --namespace | --server)
        [ $# -ge 2 ] && [ -n "$2" ] || usage "$1 wants a value"
        case $1 in
        --secret) secret=$2 ;;
        --role) role=$2 ;;
        --namespace) namespace=$2 ;;
        --server) server=$2 ;;
        esac
        shift 2
        ;;
    -*) usage "unknown option $1" ;;
    *)
        [ -z "$context" ] || usage "one CONTEXT, not $context and $1"
        context=$1
        shift
        ;;
    esac
done
[ -n "$context" ] || usage 'CONTEXT is missing'
if [ -n "$secret" ]; then
    case $role in
    consumer | provider) ;;
    spoke) token_secret=resource-graphs-token ;;
    '') usage '--secret wants --role consumer, --role provider or --role spoke' ;;
    *) usage "--role is consumer, provider or spoke, not $role" ;;
    esac
    case $secret in
    *[!a-z0-9.-]* | [.-]* | *[.-]) usage "--secret $secret: a name has a-z, 0-9, - and ., and begins and ends with a letter or digit" ;;
    esac
elif [ -n "$role$namespace" ]; then
    usage '--role and --namespace go with --secret'
fi

kube() { kubectl --context "$context" "$@"; }
data() { kube --namespace $account_namespace get secret $token_secret --output "go-template={{with .data}}$1{{end}}"; }

command -v kubectl >/dev/null || fail 'kubectl is missing'
if [ -z "$server" ]; then
    server=$(kube config view --minify --output 'jsonpath={.clusters[0].cluster.server}') ||
        fail "kubectl has no context $context"
    [ -n "$server" ] || fail "kubectl's context $context names no server; give one with --server"
fi

# The controller manager fills the Secret a moment after it was applied.
tries=10
while :; do
    ca=$(data '{{with index . "ca.crt"}}{{.}}{{end}}') ||
        fail "no Secret $account_namespace/$token_secret to be read in $context: apply the file of config/rbac for its role there, as somebody who may read it"
    token=$(data '{{with .token}}{{base64decode .}}{{end}}')
    [ -z "$ca" ] || [ -z "$token" ] || break
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail "Secret $account_namespace/$token_secret in $context holds no token: is there its ServiceAccount, and does the controller manager run?"
    sleep 1
done

# `cat` and `sed` read it: the token is on no command line.
kubeconfig() {
    cat <<EOF
apiVersion: v1
kind: Config
current-context: broker
contexts:
  - name: broker
    context: {cluster: broker, user: resource-broker, namespace: $account_namespace}
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
}

if [ -z "$secret" ]; then
    kubeconfig
    exit
fi
cat <<EOF
apiVersion: v1
kind: Secret
metadata:
  name: $secret
  namespace: ${namespace:-resource-broker-clusters}
  labels:
    broker.platform-mesh.io/role: $role
stringData:
  kubeconfig: |
EOF
kubeconfig | sed 's/^/    /'
