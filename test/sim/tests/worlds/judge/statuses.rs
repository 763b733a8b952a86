//! A status goes back where it came from (I3).

use broker_api::{ClusterName, keys};
use broker_core::naming::{NameLimit, copy_name};

use super::{Step, annotation};
use crate::stage::{CERTIFICATE, PROVIDERS};

/// Whether the status that the broker writes speaks of a copy of this very object.
pub(super) fn check_status(step: &Step<'_>) -> Result<(), String> {
    let change = step.change;
    if change.resource != CERTIFICATE || PROVIDERS.contains(&step.server()) {
        return Ok(());
    }
    let Some(after) = &change.after else { return Ok(()) };
    let conditions = after["status"]["conditions"].as_array();
    let issued = conditions.into_iter().flatten().find(|condition| condition["type"] == "Issued");
    let Some(issued) = issued else { return Ok(()) };
    let copy = copy_name(&ClusterName::consumer(step.server()), &change.name, NameLimit::Subdomain);
    if issued["message"] != format!("for {copy}") {
        let provider = annotation(after, keys::PROVIDER_CLUSTER);
        return Err(format!("{} of {provider} is told of another: {}", change.name, issued["message"]));
    }
    Ok(())
}
