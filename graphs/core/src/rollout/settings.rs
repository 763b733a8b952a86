//! `Settings`: what a rollout asks for, with its defaults.

use broker_api::graphs::rollout::{Offboarding, OnFailure, ResourceGraphRolloutSpec};
use k8s_openapi::apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString};
use runtime_effect::selector::Selector;

/// Seconds after which a cluster has failed, unless a rollout says otherwise.
const DEADLINE: u32 = 600;

/// What a rollout asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The clusters that get it.
    pub selector: Selector,
    /// Whether instances in the hub are served.
    pub include_hub: bool,
    pub(super) waves: Vec<WaveSettings>,
    pub(super) pins: Vec<PinSettings>,
    pub(super) revision: Option<i64>,
    pub(super) paused: bool,
    pub(super) on_failure: OnFailure,
    pub(super) threshold: Amount,
    /// Milliseconds.
    pub(super) deadline: u64,
    /// What happens in clusters that leave.
    pub offboarding: Offboarding,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct WaveSettings {
    pub(super) name: String,
    pub(super) selector: Selector,
    pub(super) max_unavailable: Amount,
    /// Milliseconds.
    pub(super) soak: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PinSettings {
    pub(super) selector: Selector,
    pub(super) revision: i64,
}

/// A field that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("spec.{field}: {why}")]
pub struct SettingsError {
    field: String,
    why: String,
}

/// A number, or percents of something; of these what is below one is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Amount {
    Number(usize),
    Percent(usize),
}

impl Amount {
    pub(super) fn of(self, whole: usize) -> usize {
        match self {
            Self::Number(number) => number,
            Self::Percent(percent) => whole * percent / 100,
        }
    }

    fn read(amount: Option<&IntOrString>, field: impl FnOnce() -> String) -> Result<Self, SettingsError> {
        let read = match amount {
            None => Some(Self::Number(1)),
            Some(IntOrString::Int(number)) => usize::try_from(*number).ok().map(Self::Number),
            Some(IntOrString::String(text)) => {
                let percent = text.strip_suffix('%').and_then(|percent| percent.parse().ok());
                percent.filter(|percent| *percent <= 100).map(Self::Percent)
            }
        };
        read.ok_or_else(|| {
            let why = "use a number from 0, or percents as \"25%\"".to_owned();
            SettingsError { field: field(), why }
        })
    }
}

fn selector(selector: &LabelSelector, field: impl FnOnce() -> String) -> Result<Selector, SettingsError> {
    let read = serde_json::to_value(selector).map_err(|error| error.to_string());
    read.and_then(|read| Selector::read(&read)).map_err(|why| SettingsError { field: field(), why })
}

fn millis(seconds: u32) -> u64 {
    u64::from(seconds) * 1000
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            selector: Selector::default(),
            include_hub: true,
            waves: Vec::new(),
            pins: Vec::new(),
            revision: None,
            paused: false,
            on_failure: OnFailure::Continue,
            threshold: Amount::Number(1),
            deadline: millis(DEADLINE),
            offboarding: Offboarding::Orphan,
        }
    }
}

impl Settings {
    /// The fields that name a revision, and the revisions: they have to stay.
    pub fn revisions(&self) -> impl Iterator<Item = (String, i64)> {
        let pins = self.pins.iter().enumerate();
        let pins = pins.map(|(at, pin)| (format!("spec.pins[{at}].revision"), pin.revision));
        pins.chain(self.revision.map(|revision| ("spec.revision".to_owned(), revision)))
    }

    /// The same, where nothing may be deleted.
    #[must_use]
    pub fn without_deletion(mut self) -> Self {
        if self.offboarding == Offboarding::Delete {
            self.offboarding = Offboarding::Orphan;
        }
        self
    }

    /// Whether the target is named, and not the newest.
    pub fn names_target(&self) -> bool {
        self.revision.is_some()
    }

    /// No further cluster begins.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    pub(super) fn read(spec: &ResourceGraphRolloutSpec) -> Result<Self, SettingsError> {
        let waves = spec.waves.iter().enumerate().map(|(at, wave)| {
            Ok(WaveSettings {
                name: wave.name.clone(),
                selector: selector(&wave.cluster_selector, || format!("waves[{at}].clusterSelector"))?,
                max_unavailable: Amount::read(wave.max_unavailable.as_ref(), || format!("waves[{at}].maxUnavailable"))?,
                soak: millis(wave.soak_seconds.unwrap_or_default()),
            })
        });
        let pins = spec.pins.iter().enumerate().map(|(at, pin)| {
            let selector = selector(&pin.cluster_selector, || format!("pins[{at}].clusterSelector"))?;
            Ok(PinSettings { selector, revision: pin.revision })
        });
        let all = spec.cluster_selector.as_ref().map(|all| selector(all, || "clusterSelector".to_owned()));
        Ok(Self {
            selector: all.transpose()?.unwrap_or_default(),
            include_hub: spec.include_hub.unwrap_or(true),
            waves: waves.collect::<Result<_, _>>()?,
            pins: pins.collect::<Result<_, _>>()?,
            revision: spec.revision,
            paused: spec.paused,
            on_failure: spec.on_failure.unwrap_or_default(),
            threshold: Amount::read(spec.failure_threshold.as_ref(), || "failureThreshold".to_owned())?,
            deadline: millis(spec.progress_deadline_seconds.unwrap_or(DEADLINE)),
            offboarding: spec.offboarding.unwrap_or_default(),
        })
    }
}
