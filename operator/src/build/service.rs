//! Where the metrics are.

use serde_json::json;

use super::metadata::owned;
use crate::{
    desired::{Desired, Kind, hash},
    owner::Owner,
};

/// A Service's name is a DNS label.
const LONGEST: usize = 63;

/// `<broker>-metrics`; of a name that is too long for that, what fits, and a hash of the whole.
fn name(owner: &Owner) -> String {
    let full = format!("{}-metrics", owner.name);
    if full.len() <= LONGEST {
        return full;
    }
    let hash = &hash(&full.clone().into())[..8];
    // Names are ASCII: validated before.
    let kept: String = owner.name.chars().take(LONGEST - "--metrics".len() - hash.len()).collect();
    format!("{kept}-{hash}-metrics")
}

pub(super) fn build(owner: &Owner, port: u16) -> Desired {
    Desired::new(
        Kind::Service,
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": owned(owner, &name(owner)),
            "spec": {
                "selector": owner.pod_selector(),
                "ports": [{"name": "metrics", "protocol": "TCP", "port": port, "targetPort": "metrics"}],
            },
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_differ() {
        let name = |text: String| name(&Owner { name: text, namespace: "n".into(), uid: "u".into() });
        assert_eq!(name("b".into()), "b-metrics");
        assert_eq!(name("b".repeat(55)).len(), 63);
        let (one, two) = (name("b".repeat(63)), name(format!("{}c", "b".repeat(62))));
        assert_eq!((one.len(), two.len()), (63, 63));
        assert_ne!(one, two);
    }
}
