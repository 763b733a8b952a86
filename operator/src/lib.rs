//! `resource-broker-operator`: makes of each `Broker` object a Deployment and what belongs to it.
