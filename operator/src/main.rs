//! `resource-broker-operator`: deploys resource brokers from `Broker` objects.

fn main() {}
