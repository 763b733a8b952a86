//! `Traveller`: one object that moves between providers.

use serde_json::{Value, json};

use crate::{Kind, Object, Place, Scene, kind::CERTIFICATE};

/// Annotation: which provider serves an object.
pub const PROVIDER: &str = "broker.platform-mesh.io/provider-cluster";
/// Annotation: which provider it is on its way to.
pub const NEW_PROVIDER: &str = "broker.platform-mesh.io/new-provider-cluster";

/// One object of a consumer in a scene, and its copies.
#[derive(Clone, Copy)]
pub struct Traveller<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its consumer.
    pub consumer: &'a Place,
    /// Its namespace.
    pub ns: &'a str,
    /// Its name.
    pub name: &'a str,
}

/// Whether an object shows that this provider serves it and that it is not on its way.
pub fn settled_at(provider: &Place) -> impl Fn(&Object) -> bool {
    let name = provider.name().to_owned();
    move |seen| {
        seen.annotation(PROVIDER) == Some(&name)
            && seen.annotation(NEW_PROVIDER).is_none()
            && seen.has("Brokered", "True", "Placed")
            && seen.condition("Moving").is_none_or(|moving| moving.status == "False")
    }
}

/// Whether an object is on its way from one provider to another.
pub fn moving(from: &Place, to: &Place) -> impl Fn(&Object) -> bool {
    let (from, to) = (from.name().to_owned(), to.name().to_owned());
    move |seen| seen.annotation(PROVIDER) == Some(&from) && seen.annotation(NEW_PROVIDER) == Some(&to)
}

impl<'a> Traveller<'a> {
    /// A Certificate of a scene.
    pub fn certificate(scene: &'a Scene<'_>, consumer: &'a Place, name: &'a str) -> Self {
        Self { kind: CERTIFICATE, consumer, ns: scene.ns(), name }
    }

    /// Name of its copies.
    pub fn copy_name(&self) -> String {
        self.consumer.copy_name(self.name)
    }

    /// Name of the Secret that its controller makes, as the consumer sees it.
    pub fn secret(&self) -> String {
        format!("{}-key", self.name)
    }

    /// The object.
    pub async fn get(&self) -> Object {
        self.consumer.get(&self.kind, self.ns, self.name).await
    }

    /// Waits until the object is as `test` wants it.
    pub async fn until(&self, what: &str, test: impl Fn(&Object) -> bool) -> Object {
        self.consumer.until(&self.kind, self.ns, self.name, what, test).await
    }

    /// A person edits its spec.
    pub async fn edit(&self, spec: Value) -> Object {
        self.consumer.edit(&self.kind, self.ns, self.name, json!({"spec": spec})).await
    }

    /// A person deletes it.
    pub async fn delete(&self) {
        self.consumer.delete(&self.kind, self.ns, self.name).await;
    }

    /// Waits until it is gone.
    pub async fn until_gone(&self) {
        self.consumer.until_gone(&self.kind, self.ns, self.name).await;
    }

    /// Waits for its copy at a provider.
    pub async fn copy(&self, provider: &Place) -> Object {
        provider.until_there(&self.kind, self.ns, &self.copy_name()).await
    }

    /// Waits until its copy at a provider is as `test` wants it.
    pub async fn copy_until(&self, provider: &Place, what: &str, test: impl Fn(&Object) -> bool) -> Object {
        provider.until(&self.kind, self.ns, &self.copy_name(), what, test).await
    }

    /// Its copy, if it is there now.
    pub async fn find_copy(&self, provider: &Place) -> Option<Object> {
        provider.find(&self.kind, self.ns, &self.copy_name()).await
    }

    /// Waits until its copy at a provider is gone.
    pub async fn until_copy_gone(&self, provider: &Place) {
        provider.until_gone(&self.kind, self.ns, &self.copy_name()).await;
    }

    /// Waits until a provider serves it, it is not on its way, and its consumer has the Secret from there.
    pub async fn until_served_by(&self, provider: &Place) -> Object {
        let seen = self.until(&format!("to be served by {}", provider.name()), settled_at(provider)).await;
        let theirs = secret_of(provider);
        let what = format!("to be that of {}", provider.name());
        self.consumer.until(&crate::kind::SECRET, self.ns, &self.secret(), &what, theirs).await;
        seen
    }
}

/// Whether a Secret was made by the controller of a provider.
pub fn secret_of(provider: &Place) -> impl Fn(&Object) -> bool {
    let wanted = base64(provider.name());
    move |seen| seen.text("/data/provider") == wanted
}

/// Base64 with padding.
pub fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let mut bytes = [0; 4];
        bytes[1..=chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes(bytes);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            encoded.push(if digit <= chunk.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    encoded
}
