//! How a store is reached: the Secret that its consumer gets, and a migration's Jobs too.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1::Secret};

/// Key of the address.
pub const URL: &str = "url";
/// Key of the token.
pub const TOKEN: &str = "token";

/// Address and token of one store.
#[derive(Clone, PartialEq, Eq)]
pub struct Access {
    /// Where the store answers, such as `http://10.0.0.1:7379/stores/default/cart`.
    pub url: String,
    /// What its users say who they are with (`Authorization: Bearer …`).
    pub token: String,
}

impl Access {
    /// Access to a store that nobody had so far.
    pub fn generate(url: String) -> Self {
        Self { url, token: hex::encode(rand::random::<[u8; 16]>()) }
    }

    /// What the Secret says, if both texts are there.
    pub fn from_secret(secret: &Secret) -> Option<Self> {
        let data = secret.data.as_ref()?;
        let text = |key| String::from_utf8(data.get(key)?.0.clone()).ok();
        Some(Self { url: text(URL)?, token: text(TOKEN)? })
    }

    /// The `data` of the Secret.
    pub fn to_data(&self) -> BTreeMap<String, ByteString> {
        [(URL, &self.url), (TOKEN, &self.token)]
            .into_iter()
            .map(|(key, text)| (key.to_owned(), ByteString(text.clone().into_bytes())))
            .collect()
    }
}
