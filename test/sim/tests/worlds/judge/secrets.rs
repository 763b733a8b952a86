//! No Secret gets where it does not belong.

use super::Step;
use crate::{
    provider::base64,
    stage::{HUB, PROVIDERS},
};

/// Whether what the broker writes to a consumer's Secret is that consumer's.
pub(super) fn check_secret(step: &Step<'_>) -> Result<(), String> {
    let Some(after) = step.change.after.as_ref().filter(|_| step.change.resource == "secrets") else { return Ok(()) };
    if step.server() == HUB || PROVIDERS.contains(&step.server()) {
        return Ok(());
    }
    if after["type"] != "Opaque" {
        return Err(format!("a Secret of type {} comes to a consumer", after["type"]));
    }
    // A name of the tenant's is in each of its Certificates.
    let marks = (0..=9).flat_map(|edition| {
        ["website", "mail"].map(|name| base64(&format!("{name}{edition}.{}.example.org", step.server())))
    });
    let is_its = marks.into_iter().any(|mark| after["data"]["tls.crt"] == mark);
    if is_its { Ok(()) } else { Err(format!("a Secret of somebody else comes to a consumer: {}", after["data"])) }
}
