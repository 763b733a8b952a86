//! `FeatureGates`: what `--feature-gates` switches on.

use std::str::FromStr;

/// kro's gates that are off unless somebody wants them. A gate of kro's that nothing hangs on here is read all the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FeatureGates {
    /// An Event for each change of a condition of an instance.
    pub instance_condition_events: bool,
}

const EVENTS: &str = "InstanceConditionEvents";

/// `omit()` is always there, and each metric too.
const WITHOUT_EFFECT: [&str; 2] = ["CELOmitFunction", "InstanceConditionMetrics"];

impl FromStr for FeatureGates {
    type Err = String;

    /// `Name=true,Name=false`, as Kubernetes' own programs read it.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut gates = Self::default();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (name, value) =
                entry.split_once('=').ok_or_else(|| format!("{entry:?} is not Name=true or Name=false"))?;
            let on = match value.trim().to_ascii_lowercase().as_str() {
                "true" | "t" | "1" => true,
                "false" | "f" | "0" => false,
                _ => return Err(format!("{entry:?}: a gate is true or false")),
            };
            match name.trim() {
                EVENTS => gates.instance_condition_events = on,
                name if WITHOUT_EFFECT.contains(&name) => {}
                name => {
                    let known = [&[EVENTS][..], &WITHOUT_EFFECT].concat().join(", ");
                    return Err(format!("there is no feature gate {name:?}; there are {known}"));
                }
            }
        }
        Ok(gates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read_as_those_of_kubernetes_are() {
        let events = |text: &str| text.parse::<FeatureGates>().map(|gates| gates.instance_condition_events);
        assert_eq!(events(""), Ok(false));
        assert_eq!(events("CELOmitFunction=false, InstanceConditionEvents=True,"), Ok(true));
        assert_eq!(events("InstanceConditionEvents=true,InstanceConditionEvents=0"), Ok(false), "the last counts");
        for (text, words) in [
            ("InstanceConditionEvents", "not Name=true"),
            ("InstanceConditionEvents=yes", "true or false"),
            ("InstanceConditionEvent=true", "there are InstanceConditionEvents, CELOmitFunction"),
        ] {
            assert!(events(text).is_err_and(|why| why.contains(words)), "{text}");
        }
    }
}
