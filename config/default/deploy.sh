#!/bin/sh
# `make deploy`: puts config/default into the cluster of kubectl's current context.
#
#   [REGISTRY=registry.example.com/you] config/default/deploy.sh
#
# With REGISTRY the images are $REGISTRY/resource-broker, $REGISTRY/resource-broker-operator and $REGISTRY/resource-graphs,
# instead of localhost's.
# KUBECTL is the kubectl to use.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
kubectl=${KUBECTL:-kubectl}
registry=${REGISTRY:-localhost}

# Read as a whole first: nothing is applied of what could not be made.
manifests=$("$kubectl" kustomize "$here")
printf '%s\n' "$manifests" | sed "s|localhost/resource-|${registry%/}/resource-|" | "$kubectl" apply -f -
