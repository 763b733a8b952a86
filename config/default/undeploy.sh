#!/bin/sh
# `make undeploy`: takes config/default out of the cluster of kubectl's current context: first all Brokers, which the
# operator cleans up after, then the operator. What people would miss stays: the CRDs with all Migrations and
# ResourceGraphDefinitions, and both namespaces with the signing key and the clusters' kubeconfigs. KUBECTL is the kubectl to use.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
kubectl=${KUBECTL:-kubectl}

brokers=brokers.operator.broker.platform-mesh.io
if [ -n "$("$kubectl" get customresourcedefinition $brokers --ignore-not-found --output name)" ] &&
    ! "$kubectl" delete $brokers --all --all-namespaces --timeout=2m; then
    echo 'undeploy: Brokers are not gone yet, and only the operator can clean up after them; it says why not:' >&2
    echo '    kubectl describe brokers --all-namespaces' >&2
    echo '    kubectl --namespace resource-broker-system logs deployment/resource-broker-operator' >&2
    exit 1
fi

manifests=$("$kubectl" kustomize "$here")
printf '%s\n' "$manifests" |
    awk 'BEGIN { RS = "\n---\n" } !/(^|\n)kind: (Namespace|CustomResourceDefinition)\n/ { print "---"; print }' |
    "$kubectl" delete --ignore-not-found --timeout=2m -f -

echo 'Kept, with what is in them: the CRDs, and namespaces resource-broker-system and resource-broker-clusters.'
echo 'Copies at providers and objects of consumers are as they were. To remove the rest, keys and kubeconfigs included:'
echo '    kubectl delete namespace resource-broker-system resource-broker-clusters'
echo '    kubectl delete -k config/crd'
echo 'and, where no ResourceGraphDefinition is left (only their controller lets them go) and kro is not there either:'
echo '    kubectl delete -k config/crd-graphs'
