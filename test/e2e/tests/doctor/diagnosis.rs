//! `Diagnosis`: what `kubectl broker doctor` finds.

use std::time::Duration;

use e2e::{DEADLINE, Said, schema};
use harness::wait_for;
use serde_json::Value;
use tokio::time::{MissedTickBehavior, interval};

use crate::installation::Installation;

/// It asks three API servers for a hundred things: not more often than this.
const LOOK: Duration = Duration::from_millis(500);

/// By what a finding is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Symptom<'a> {
    check: &'a str,
    place: &'a str,
    words: &'a str,
}

/// A finding of this check, at this place, with these words in what it says.
pub(crate) const fn symptom<'a>(check: &'a str, place: &'a str, words: &'a str) -> Symptom<'a> {
    Symptom { check, place, words }
}

impl Symptom<'_> {
    fn is(&self, finding: &Value) -> bool {
        let words = finding["what"].as_str().is_some_and(|what| what.contains(self.words));
        words && finding["check"] == *self.check && finding["where"] == *self.place
    }

    /// What the text for people tells of it.
    pub(crate) fn told(&self, text: &str) -> Option<String> {
        let mut paragraphs: Vec<Vec<&str>> = Vec::new();
        for line in text.lines() {
            match paragraphs.last_mut() {
                Some(last) if line.starts_with(' ') => last.push(line),
                _ => paragraphs.push(vec![line]),
            }
        }
        let head = format!("{}  ({})", self.place, self.check);
        let is_ours = |lines: &Vec<&str>| {
            // Before it is how bad it is.
            lines[0].get(9..) == Some(&*head) && lines.iter().any(|line| line.contains(self.words))
        };
        Some(paragraphs.into_iter().find(is_ours)?.join("\n") + "\n")
    }
}

/// What it finds.
#[derive(Debug, Clone)]
pub(crate) struct Diagnosis {
    report: Value,
}

impl Diagnosis {
    /// Of what it says with `-o json`.
    fn read(said: &Said) -> anyhow::Result<Self> {
        let report: Value =
            serde_json::from_str(&said.out).map_err(|error| anyhow::anyhow!("{error}: {}", said.shown()))?;
        schema::fits("doctor", &report);
        let fails = report["errors"] != 0;
        assert_eq!((said.code, said.err.as_str()), (Some(i32::from(fails)), ""), "{report:#}");
        Ok(Self { report })
    }

    /// How many clusters it has looked at.
    pub(crate) fn clusters(&self) -> &Value {
        &self.report["clusters"]
    }

    fn findings(&self) -> &[Value] {
        self.report["findings"].as_array().unwrap()
    }

    /// Whether all of these are found, and nothing else is.
    fn is(&self, symptoms: &[Symptom<'_>]) -> bool {
        let is_found = |symptom: &Symptom<'_>| self.findings().iter().any(|finding| symptom.is(finding));
        let is_meant = |finding: &Value| symptoms.iter().any(|symptom| symptom.is(finding));
        symptoms.iter().all(is_found) && self.findings().iter().all(is_meant)
    }
}

impl Installation {
    /// Waits until nothing is found.
    pub(crate) async fn until_sound(&self, what: &str) -> Diagnosis {
        let what = format!("doctor to find nothing ({what})");
        self.until_diagnosed(&what, |seen| seen.findings().is_empty()).await
    }

    /// Waits until all of this is found, and nothing else.
    pub(crate) async fn until_found(&self, what: &str, symptoms: &[Symptom<'_>]) -> Diagnosis {
        let what = format!("doctor to find {symptoms:?} and nothing else ({what})");
        self.until_diagnosed(&what, |seen| seen.is(symptoms)).await
    }

    async fn until_diagnosed(&self, what: &str, is: impl Fn(&Diagnosis) -> bool) -> Diagnosis {
        let mut pace = interval(LOOK);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let seen = wait_for(DEADLINE, what, async || {
            pace.tick().await;
            let now = Diagnosis::read(&self.command(&["doctor", "-o", "json"]).await)?;
            anyhow::ensure!(is(&now), "{:#}", now.report);
            anyhow::Ok(now)
        });
        seen.await.unwrap_or_else(|error| panic!("{error:#}\n{}", self.log()))
    }
}
