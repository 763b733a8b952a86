//! How findings are told.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    copy,
    finding::{Finding, More, Severity},
    migration, origin,
};
use crate::{
    output::Output,
    paint::{Paint, harmless},
    programs::{json, yaml},
};

/// How many findings of checks that may find very many are told one by one to people. Programs are told of all.
const SHOWN: usize = 10;

/// Those checks.
const MANY: [More; 4] = [origin::MORE_WAIT, copy::MORE, migration::MORE, origin::MORE_ASIDE];

/// All that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// How many clusters were looked at, the coordination cluster included.
    pub(crate) clusters: usize,
    /// How many findings are errors.
    pub(crate) errors: usize,
    /// How many are warnings.
    pub(crate) warnings: usize,
    /// How many are neither.
    pub(crate) infos: usize,
    /// The findings, the worst first.
    pub(crate) findings: Vec<Finding>,
}

impl Report {
    /// Of these findings. Within a severity they stay in their order.
    pub(crate) fn of(clusters: usize, mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| finding.severity);
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let (errors, warnings, infos) = (count(Severity::Error), count(Severity::Warning), count(Severity::Info));
        Self { clusters, errors, warnings, infos, findings }
    }

    /// For people or for programs.
    pub(crate) fn print(&self, output: Output, paint: Paint) -> anyhow::Result<String> {
        Ok(match output {
            Output::Text | Output::Wide => self.draw(paint),
            Output::Json => json(self)?,
            Output::Yaml => yaml(self)?,
        })
    }

    fn draw(&self, paint: Paint) -> String {
        let mut out = String::new();
        let mut told: BTreeMap<&str, usize> = BTreeMap::new();
        for Finding { severity, check, place, what, remedy } in &self.findings {
            let count = told.entry(*check).or_default();
            *count += 1;
            if *count > SHOWN && MANY.iter().any(|many| many.check == *check) {
                continue;
            }
            let good = if *severity == Severity::Info { None } else { Some(false) };
            let word = paint.standing(&format!("{severity:<8}"), good);
            let place = paint.bold(&harmless(place));
            out.push_str(&format!("{word} {place}  {}\n", paint.faint(&format!("({check})"))));
            for line in what.lines() {
                out.push_str(&format!("         {}\n", harmless(line)));
            }
            for line in remedy.lines() {
                out.push_str(&format!("       → {}\n", harmless(line)));
            }
        }
        for More { check, what, remedy } in MANY {
            let others = told.get(check).map_or(0, |count| count.saturating_sub(SHOWN));
            if others > 0 {
                let check = paint.faint(&format!("({check})"));
                out.push_str(&format!("more     {check}\n         {others} more {what}\n       → {remedy}\n"));
            }
        }
        let of = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
        let clusters = of(self.clusters, "cluster");
        if self.findings.is_empty() {
            out.push_str(&format!("nothing found in {clusters}\n"));
        } else {
            let counts = [of(self.errors, "error"), of(self.warnings, "warning"), of(self.infos, "info")];
            out.push_str(&format!("{} in {clusters}\n", counts.join(", ")));
        }
        out
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_told_first_and_nothing_moves_the_cursor() {
        let findings = vec![
            Finding::info("set-aside", "consumer#homer", "it is paused", "a"),
            Finding::warning("clock", "provider#theseus", "its clock\x1b[2J", "b"),
            Finding::error("reach", "consumer#homer", "no answer", "c"),
        ];
        let report = Report::of(3, findings);
        let text = report.print(Output::Text, Paint::plain()).unwrap();
        assert_eq!(
            text,
            "error    consumer#homer  (reach)\n         no answer\n       → c\n\
             warning  provider#theseus  (clock)\n         its clock\u{fffd}[2J\n       → b\n\
             info     consumer#homer  (set-aside)\n         it is paused\n       → a\n\
             1 error, 1 warning, 1 info in 3 clusters\n"
        );
        let json: serde_json::Value =
            serde_json::from_str(&report.print(Output::Json, Paint::plain()).unwrap()).unwrap();
        assert_eq!((&json["errors"], &json["findings"][0]["where"]), (&1.into(), &"consumer#homer".into()));
        assert_eq!(json["findings"][2]["severity"], "info");
        let well = Report::of(1, Vec::new()).print(Output::Text, Paint::plain()).unwrap();
        assert_eq!(well, "nothing found in 1 cluster\n");
    }

    #[test]
    fn people_are_told_of_the_first_of_very_many_and_programs_of_all() {
        let of = |check: &'static str, count: usize| vec![Finding::warning(check, "consumer#homer", "w", "r"); count];
        let report =
            Report::of(2, [of("not-brokered", SHOWN + 3), of("set-aside", SHOWN), of("clock", SHOWN + 1)].concat());
        assert_eq!((report.warnings, report.findings.len()), (3 * SHOWN + 4, 3 * SHOWN + 4));
        let text = report.print(Output::Text, Paint::plain()).unwrap();
        let told = |check: &str| text.matches(&format!("consumer#homer  ({check})")).count();
        assert_eq!(["not-brokered", "set-aside", "clock"].map(told), [SHOWN, SHOWN, SHOWN + 1]);
        let more = "more     (not-brokered)\n         3 more objects are not served\n       → `kubectl broker objects";
        assert!(text.contains(more) && text.ends_with("34 warnings, 0 infos in 2 clusters\n"), "{text}");
        assert_eq!(text.matches(" more ").count(), 1, "{text}");
    }
}
