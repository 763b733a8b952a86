//! `Scene`: what one test has for itself in a world that it shares with others.
//!
//! Its namespace and its domain have its name. Its AcceptAPIs accept that domain only, so the tests of a world do not
//! serve each other's objects.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::{
    Kind, Object, Place, World,
    kind::{ACCEPT_API, CERTIFICATE},
};

/// Namespace of AcceptAPIs.
pub const ACCEPT_NAMESPACE: &str = "default";

/// One test's part of a world. When it is dropped by a panic it prints the broker's log lines about it.
pub struct Scene<'a> {
    /// The world.
    pub world: &'a World,
    /// Name of the test, of its namespace and, with `.test`, of its domain.
    pub name: String,
    next: AtomicU64,
}

impl<'a> Scene<'a> {
    /// A part of `world` with a namespace `name` in each of `consumers`.
    pub async fn new(world: &'a World, name: &str, consumers: &[&Place]) -> Self {
        for consumer in consumers {
            consumer.make_namespace(name).await;
        }
        Self { world, name: name.to_owned(), next: AtomicU64::new(0) }
    }

    /// The namespace.
    pub fn ns(&self) -> &str {
        &self.name
    }

    /// A name in its domain.
    pub fn fqdn(&self, host: &str) -> String {
        format!("{host}.{}.test", self.name)
    }

    /// The filter that accepts its domain.
    pub fn domain_filter(&self) -> Value {
        json!({"key": "fqdn", "suffix": format!(".{}.test", self.name)})
    }

    /// An AcceptAPI at `provider` for Certificates of its domain, with further fields of the spec; returns its name.
    /// Further filters come behind that of the domain.
    pub async fn accept(&self, provider: &Place, more: Value) -> String {
        self.accept_kind(&CERTIFICATE, provider, &[self.domain_filter()], more).await
    }

    /// An AcceptAPI at `provider` for a kind, with these filters and further fields of the spec; returns its name.
    pub async fn accept_kind(&self, kind: &Kind, provider: &Place, filters: &[Value], more: Value) -> String {
        let name = format!("{}-{}", self.name, self.next.fetch_add(1, Ordering::Relaxed));
        let mut spec = if more.is_object() { more } else { json!({}) };
        let mut all = filters.to_vec();
        all.extend(spec["filters"].as_array().into_iter().flatten().cloned());
        spec["filters"] = json!(all);
        spec["gvr"] = kind.gvr();
        provider.create(&ACCEPT_API, ACCEPT_NAMESPACE, &name, json!({"spec": spec})).await;
        name
    }

    /// A Certificate of its domain in its namespace of `consumer`; its `fqdn` begins with its name.
    pub async fn certificate(&self, consumer: &Place, name: &str) -> Object {
        self.certificate_for(consumer, name, &self.fqdn(name)).await
    }

    /// A Certificate in its namespace of `consumer`.
    pub async fn certificate_for(&self, consumer: &Place, name: &str, fqdn: &str) -> Object {
        consumer.create(&CERTIFICATE, self.ns(), name, json!({"spec": {"fqdn": fqdn}})).await
    }

    /// Waits for the copy of a Certificate of `consumer` at `provider`.
    pub async fn copy(&self, consumer: &Place, name: &str, provider: &Place) -> Object {
        provider.until_there(&CERTIFICATE, self.ns(), &consumer.copy_name(name)).await
    }

    /// Waits until the copy of a Certificate is there and `test` holds for it.
    pub async fn copy_until(
        &self,
        consumer: &Place,
        name: &str,
        provider: &Place,
        what: &str,
        test: impl Fn(&Object) -> bool,
    ) -> Object {
        provider.until(&CERTIFICATE, self.ns(), &consumer.copy_name(name), what, test).await
    }

    /// The copy of a Certificate, if it is there now.
    pub async fn find_copy(&self, consumer: &Place, name: &str, provider: &Place) -> Option<Object> {
        provider.find(&CERTIFICATE, self.ns(), &consumer.copy_name(name)).await
    }

    /// Waits until a Certificate of `consumer` is as `test` wants it.
    pub async fn until(&self, consumer: &Place, name: &str, what: &str, test: impl Fn(&Object) -> bool) -> Object {
        consumer.until(&CERTIFICATE, self.ns(), name, what, test).await
    }

    /// Waits until the broker has seen all that was done before to AcceptAPIs and Certificates in `consumer` and
    /// `provider`: a new Certificate that a new AcceptAPI accepts goes all the way, and its status comes back.
    ///
    /// This is how tests tell that something does *not* happen. Watches yield changes in their order, and the new
    /// object waits in the broker's queue behind the older ones of its consumer.
    pub async fn barrier(&self, consumer: &Place, provider: &Place) {
        let name = format!("{}-barrier-{}", self.name, self.next.fetch_add(1, Ordering::Relaxed));
        let scene = Scene { world: self.world, name, next: AtomicU64::new(0) };
        consumer.make_namespace(scene.ns()).await;
        let accept = scene.accept(provider, Value::Null).await;
        scene.certificate(consumer, "barrier").await;
        let copy = scene.copy(consumer, "barrier", provider).await;
        provider.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"status": "Available"})).await;
        scene
            .until(consumer, "barrier", "the barrier's status", |seen| seen.text("/status/status") == "Available")
            .await;
        consumer.delete(&CERTIFICATE, scene.ns(), "barrier").await;
        consumer.until_gone(&CERTIFICATE, scene.ns(), "barrier").await;
        provider.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &accept).await;
    }
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the broker on {}:\n{}", self.name, self.world.broker_lines(&[&self.name, "panicked", "ERROR"]));
        }
    }
}
