//! An API server's discovery and OpenAPI documents made to be large: they cost no more than their limit.

use e2e::{Liar, Lie};

use crate::{
    WORLD,
    memory::{HOARD, HOARDS, besieged, until_asked},
};

const DISCOVERY: &str = "/apis/e2e.test/v1";

const OPENAPI: &str = "/openapi/v3/apis/e2e.test/v1";

/// How the schema of the kind begins in an OpenAPI document.
const SCHEMA: &str = r#"{"components":{"schemas":{"hoard":{"type":"object","x-kubernetes-group-version-kind":[{"group":"e2e.test","version":"v1","kind":"Hoard"}],"properties":{"spec":{"enum":[0"#;

#[test]
fn an_openapi_document_of_many_values_does_not_fill_the_memory() {
    WORLD.run(async |world| {
        let liar = Liar::start("books", &[HOARD]).await;
        liar.on(OPENAPI, Lie::long(SCHEMA, r#",{"":0}"#, 31 << 20, "]}}}}}}"));
        Box::pin(besieged(world, "openapi-large", &liar, async |liar| until_asked(liar, HOARDS, 1).await)).await;
    });
}

#[test]
fn an_openapi_document_just_under_the_limit_does_not_fill_the_memory() {
    WORLD.run(async |world| {
        let liar = Liar::start("pamphlets", &[HOARD]).await;
        liar.on(OPENAPI, Lie::long(SCHEMA, r#",{"":0}"#, 7 << 20, "]}}}}}}"));
        Box::pin(besieged(world, "openapi-small", &liar, async |liar| until_asked(liar, HOARDS, 1).await)).await;
    });
}

#[test]
fn an_openapi_document_of_many_schemas_does_not_fill_the_memory() {
    WORLD.run(async |world| {
        let liar = Liar::start("chapters", &[HOARD]).await;
        liar.on(OPENAPI, Lie::long(r#"{"components":{"schemas":{"":0"#, r#","":0"#, 7 << 20, "}}}"));
        Box::pin(besieged(world, "openapi-many", &liar, async |liar| until_asked(liar, HOARDS, 1).await)).await;
    });
}

#[test]
fn discovery_of_many_resources_does_not_fill_the_memory() {
    WORLD.run(async |world| {
        let liar = Liar::start("catalogue", &[HOARD]).await;
        let head = r#"{"groupVersion":"e2e.test/v1","resources":[{}"#;
        liar.on(DISCOVERY, Lie::long(head, ",{}", 7 << 20, "]}"));
        Box::pin(besieged(world, "discovery-large", &liar, async |liar| until_asked(liar, DISCOVERY, 2).await)).await;
    });
}
