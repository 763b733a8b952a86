//! Stacks of cloud resources, each of which knows its id only when somebody else has made it: made, changed, taken down.
//!
//! There are no controllers of a cloud: what they report is written by the tests.

use e2e::{Kind, Object};
use serde_json::{Value, json};

use crate::{CALM, rgd::Rgd, rights, scene::Scene};

const fn ec2(kind: &'static str, plural: &'static str) -> Kind {
    Kind { group: "ec2.services.k8s.aws", version: "v1alpha1", kind, plural }
}

const VPC: Kind = ec2("VPC", "vpcs");
const GATEWAY: Kind = ec2("InternetGateway", "internetgateways");
const ROUTES: Kind = ec2("RouteTable", "routetables");
const SUBNET: Kind = ec2("Subnet", "subnets");
const ROLE: Kind = Kind { group: "iam.services.k8s.aws", version: "v1alpha1", kind: "Role", plural: "roles" };
const CLUSTER: Kind = Kind { group: "eks.services.k8s.aws", version: "v1alpha1", kind: "Cluster", plural: "clusters" };
const NODES: Kind =
    Kind { group: "eks.services.k8s.aws", version: "v1alpha1", kind: "Nodegroup", plural: "nodegroups" };

/// An object of these texts.
fn texts(names: &[&str]) -> Value {
    names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect()
}

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

/// Installs a kind with these fields, which the controller may make objects of.
async fn install(scene: &Scene<'_>, kind: &Kind, spec: Value, status: Value) {
    let crd = kind.crd_with(&json!({"spec": object(spec), "status": object(status)}), true);
    scene.place().apply(&crd.to_string()).await;
    rights::grant(scene.place(), &format!("stacks-{}", kind.plural), vec![rights::children(kind)]).await;
}

/// Waits for an object, and reports this of it as the controller of its kind would.
async fn report(scene: &Scene<'_>, kind: &Kind, name: &str, status: Value) -> Object {
    let seen = scene.place().until_there(kind, scene.ns(), name).await;
    scene.place().set_status(kind, scene.ns(), name, status).await;
    seen
}

async fn names(scene: &Scene<'_>, kind: &Kind) -> Vec<String> {
    let mut names: Vec<String> =
        scene.place().list(kind, scene.ns()).await.iter().map(|one| one.name().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_network_is_made_from_its_vpc_on_and_taken_down_to_it() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "network-stack").await;
        install(
            &scene,
            &VPC,
            json!({"cidrBlocks": {"type": "array", "items": {"type": "string"}}}),
            texts(&["vpcID", "state"]),
        )
        .await;
        install(&scene, &GATEWAY, texts(&["vpc"]), texts(&["internetGatewayID"])).await;
        let route = object(texts(&["destinationCIDRBlock", "gatewayID"]));
        let mut routes = texts(&["vpcID"]);
        routes["routes"] = json!({"type": "array", "items": route});
        install(&scene, &ROUTES, routes, texts(&["routeTableID"])).await;
        let mut subnet = texts(&["vpcID", "availabilityZone"]);
        subnet["routeTables"] = json!({"type": "array", "items": {"type": "string"}});
        install(&scene, &SUBNET, subnet, texts(&["subnetID", "state"])).await;
        let rgd = Rgd::yaml(
            r"
schema:
  apiVersion: v1alpha1
  group: network-stack.kro.test
  kind: NetworkStack
  spec:
    name: string
    cidr: string | default=10.0.0.0/16
    zones: '[]string'
  status:
    vpcID: ${vpc.status.vpcID}
    subnetIDs: ${subnets.map(subnet, subnet.status.subnetID)}
resources:
- id: subnets
  forEach:
  - zone: ${schema.spec.zones}
  readyWhen:
  - ${each.status.state == 'available'}
  template:
    apiVersion: ec2.services.k8s.aws/v1alpha1
    kind: Subnet
    metadata:
      name: ${schema.spec.name}-${zone}
    spec:
      availabilityZone: ${zone}
      vpcID: ${vpc.status.vpcID}
      routeTables:
      - ${routes.status.routeTableID}
- id: routes
  template:
    apiVersion: ec2.services.k8s.aws/v1alpha1
    kind: RouteTable
    metadata:
      name: ${schema.spec.name}
    spec:
      vpcID: ${vpc.status.vpcID}
      routes:
      - destinationCIDRBlock: 0.0.0.0/0
        gatewayID: ${gateway.status.internetGatewayID}
- id: gateway
  template:
    apiVersion: ec2.services.k8s.aws/v1alpha1
    kind: InternetGateway
    metadata:
      name: ${schema.spec.name}
    spec:
      vpc: ${vpc.status.vpcID}
- id: vpc
  readyWhen:
  - ${vpc.status.state == 'available'}
  template:
    apiVersion: ec2.services.k8s.aws/v1alpha1
    kind: VPC
    metadata:
      name: ${schema.spec.name}
    spec:
      cidrBlocks:
      - ${schema.spec.cidr}
",
        );
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "x", json!({"name": "net", "zones": ["a", "b"]})).await;

        report(&scene, &VPC, "net", json!({"vpcID": "vpc-1", "state": "pending"})).await;
        scene.waits(&kind, "x", "vpc").await;
        assert!(names(&scene, &GATEWAY).await.is_empty(), "an id is not enough");
        report(&scene, &VPC, "net", json!({"vpcID": "vpc-1", "state": "available"})).await;
        let gateway = report(&scene, &GATEWAY, "net", json!({"internetGatewayID": "igw-1"})).await;
        assert_eq!(gateway.text("/spec/vpc"), "vpc-1", "{gateway}");
        let routes = report(&scene, &ROUTES, "net", json!({"routeTableID": "rtb-1"})).await;
        assert_eq!(routes.at("/spec/routes"), &json!([{"destinationCIDRBlock": "0.0.0.0/0", "gatewayID": "igw-1"}]));
        let available = |zone: &str| json!({"subnetID": format!("subnet-{zone}"), "state": "available"});
        for zone in ["a", "b"] {
            let subnet = report(&scene, &SUBNET, &format!("net-{zone}"), available(zone)).await;
            let wanted = json!({"availabilityZone": zone, "vpcID": "vpc-1", "routeTables": ["rtb-1"]});
            assert_eq!(subnet.at("/spec"), &wanted);
        }
        let seen = scene.active(&kind, "x").await;
        assert_eq!(seen.at("/status/subnetIDs"), &json!(["subnet-a", "subnet-b"]), "{seen}");

        scene.edit(&kind, "x", json!({"zones": ["a", "c"]})).await;
        report(&scene, &SUBNET, "net-c", available("c")).await;
        let moved = |seen: &Object| seen.at("/status/subnetIDs") == &json!(["subnet-a", "subnet-c"]);
        scene.until(&kind, "x", "to name the new subnet", moved).await;
        scene.gone(&SUBNET, "net-b").await;
        assert_eq!(names(&scene, &SUBNET).await, ["net-a", "net-c"]);

        let hold = json!({"metadata": {"finalizers": ["finalizers.ec2.services.k8s.aws/Subnet"]}});
        stage.place.edit(&SUBNET, scene.ns(), "net-a", hold).await;
        scene.delete(&kind, "x").await;
        scene.gone(&SUBNET, "net-c").await;
        scene.waits(&kind, "x", "net-a").await;
        assert_eq!((names(&scene, &ROUTES).await, names(&scene, &VPC).await), (vec!["net".into()], vec!["net".into()]));
        stage.place.edit(&SUBNET, scene.ns(), "net-a", json!({"metadata": {"finalizers": null}})).await;
        scene.gone(&kind, "x").await;
        for kind in [&SUBNET, &ROUTES, &GATEWAY, &VPC] {
            assert!(names(&scene, kind).await.is_empty(), "{}", kind.kind);
        }
    });
}

#[test]
fn a_cluster_of_nodes_waits_for_its_role_and_is_scaled() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "eks-stack").await;
        let metadata = json!({"ackResourceMetadata": object(texts(&["arn"]))});
        install(&scene, &ROLE, texts(&["name", "assumeRolePolicyDocument"]), metadata).await;
        let mut cluster = texts(&["name", "version", "roleARN"]);
        cluster["resourcesVPCConfig"] = object(json!({"subnetIDs": {"type": "array", "items": {"type": "string"}}}));
        install(&scene, &CLUSTER, cluster, texts(&["status", "endpoint"])).await;
        let mut nodes = texts(&["name", "clusterName", "nodeRole"]);
        let count = json!({"type": "integer"});
        nodes["scalingConfig"] = object(json!({"minSize": count, "desiredSize": count, "maxSize": count}));
        install(&scene, &NODES, nodes, texts(&["status"])).await;
        let rgd = Rgd::yaml(
            r#"
schema:
  apiVersion: v1alpha1
  group: eks-stack.kro.test
  kind: NodeCluster
  spec:
    name: string
    version: string | default="1.33"
    subnetIDs: '[]string'
    nodes: integer | default=2 minimum=1
  status:
    endpoint: ${cluster.status.endpoint}
    roleARN: ${role.status.ackResourceMetadata.arn}
resources:
- id: nodes
  readyWhen:
  - ${nodes.status.status == "ACTIVE"}
  template:
    apiVersion: eks.services.k8s.aws/v1alpha1
    kind: Nodegroup
    metadata:
      name: ${schema.spec.name}-nodes
    spec:
      name: ${schema.spec.name}-nodes
      clusterName: ${cluster.spec.name}
      nodeRole: ${role.status.ackResourceMetadata.arn}
      scalingConfig:
        minSize: 1
        desiredSize: ${schema.spec.nodes}
        maxSize: ${schema.spec.nodes * 2}
- id: cluster
  readyWhen:
  - ${cluster.status.status == "ACTIVE"}
  template:
    apiVersion: eks.services.k8s.aws/v1alpha1
    kind: Cluster
    metadata:
      name: ${schema.spec.name}
    spec:
      name: ${schema.spec.name}
      version: ${schema.spec.version}
      roleARN: ${role.status.ackResourceMetadata.arn}
      resourcesVPCConfig:
        subnetIDs: ${schema.spec.subnetIDs}
- id: role
  template:
    apiVersion: iam.services.k8s.aws/v1alpha1
    kind: Role
    metadata:
      name: ${schema.spec.name}
    spec:
      name: ${schema.spec.name}
      assumeRolePolicyDocument: |
        {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole"}]}
"#,
        );
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "x", json!({"name": "prod", "subnetIDs": ["subnet-a"]})).await;
        let arn = "arn:aws:iam::1:role/prod";
        report(&scene, &ROLE, "prod", json!({"ackResourceMetadata": {"arn": arn}})).await;
        let cluster = report(&scene, &CLUSTER, "prod", json!({"status": "CREATING"})).await;
        let wanted = json!({"name": "prod", "version": "1.33", "roleARN": arn, "resourcesVPCConfig": {"subnetIDs": ["subnet-a"]}});
        assert_eq!(cluster.at("/spec"), &wanted);
        let seen = scene.waits(&kind, "x", "cluster").await;
        assert_eq!(seen.text("/status/state"), "IN_PROGRESS", "{seen}");
        assert!(names(&scene, &NODES).await.is_empty(), "nobody joins a cluster that is not there");
        report(&scene, &CLUSTER, "prod", json!({"status": "ACTIVE", "endpoint": "https://prod"})).await;
        let nodes = report(&scene, &NODES, "prod-nodes", json!({"status": "ACTIVE"})).await;
        assert_eq!(nodes.at("/spec/scalingConfig"), &json!({"minSize": 1, "desiredSize": 2, "maxSize": 4}));
        let seen = scene.active(&kind, "x").await;
        assert_eq!((seen.text("/status/endpoint"), seen.text("/status/roleARN")), ("https://prod", arn));

        scene.edit(&kind, "x", json!({"nodes": 5})).await;
        let scaled = |seen: &Object| seen.at("/spec/scalingConfig") == &json!({"minSize": 1, "desiredSize": 5, "maxSize": 10});
        stage.place.until(&NODES, scene.ns(), "prod-nodes", "to be scaled", scaled).await;
        assert_eq!(stage.place.get(&CLUSTER, scene.ns(), "prod").await.generation(), 1, "the cluster is as it was");

        scene.delete(&kind, "x").await;
        scene.gone(&kind, "x").await;
        for kind in [&NODES, &CLUSTER, &ROLE] {
            assert!(names(&scene, kind).await.is_empty(), "{}", kind.kind);
        }
    });
}
