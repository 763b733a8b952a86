//! A source that can be broken in many ways, of which a variable says which counts: a *mutant scheme*.

use anyhow::{bail, ensure};

use crate::mutation::Mutation;

/// Whether this one counts. It is asked often, and the variable is read once.
fn counts(number: u32) -> String {
    format!(
        "({{ static ON: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| \
         std::env::var(\"MUTANT\").is_ok_and(|all| all.split(',').any(|number| number == \"{number}\"))); *ON }})"
    )
}

fn replacement(mutation: &Mutation) -> String {
    let Mutation { number, is, becomes, .. } = mutation;
    let on = counts(*number);
    if becomes.contains("MUTANT") {
        return becomes.replace("MUTANT", &on);
    }
    if is.ends_with([';', '}']) {
        return format!("if {on} {{ {becomes} }} else {{ {is} }}");
    }
    format!("(if {on} {{ {becomes} }} else {{ {is} }})")
}

/// The source with all of these in it.
pub(crate) fn with_all(source: &str, mutations: &[&Mutation]) -> anyhow::Result<String> {
    let mut places = Vec::new();
    for mutation in mutations {
        let Mutation { number, file, is, .. } = mutation;
        let mut found = source.match_indices(is.as_str()).map(|(at, _)| at);
        let Some(at) = found.next() else { bail!("no. {number}: {file} does not have this (any more): {is}") };
        ensure!(found.next().is_none(), "no. {number}: {file} has this more than once: {is}");
        places.push((at, *mutation));
    }
    places.sort_by_key(|(at, _)| *at);
    let (mut broken, mut rest) = (String::new(), 0);
    for (at, mutation) in places {
        ensure!(at >= rest, "no. {}: another one is in the same place of {}", mutation.number, mutation.file);
        broken.push_str(&source[rest..at]);
        broken.push_str(&replacement(mutation));
        rest = at + mutation.is.len();
    }
    broken.push_str(&source[rest..]);
    Ok(broken)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn mutation(number: u32, is: &str, becomes: &str) -> Mutation {
        serde_json::from_value(serde_json::json!({"number": number, "breaks": "b", "against": "a", "file": "f.rs",
            "is": is, "becomes": becomes}))
        .unwrap()
    }

    #[test]
    fn expressions_and_statements_are_broken_each_in_its_place() {
        let source = "fn f() { g(a < b); h(); }";
        let (less, call) = (mutation(1, "a < b", "true"), mutation(2, "h();", ""));
        let broken = with_all(source, &[&call, &less]).unwrap();
        let expected = format!(
            "fn f() {{ g((if {} {{ true }} else {{ a < b }})); if {} {{  }} else {{ h(); }} }}",
            counts(1),
            counts(2)
        );
        assert_eq!(broken, expected);
        let guard = mutation(3, "a < b", "a < b && !MUTANT");
        assert_eq!(with_all(source, &[&guard]).unwrap(), format!("fn f() {{ g(a < b && !{}); h(); }}", counts(3)));
    }

    #[test]
    fn what_is_not_there_once_is_told() {
        let why = |mutations: &[&Mutation]| with_all("a; b; a;", mutations).unwrap_err().to_string();
        assert!(why(&[&mutation(1, "c", "d")]).starts_with("no. 1: f.rs does not have this"));
        assert!(why(&[&mutation(1, "a", "d")]).starts_with("no. 1: f.rs has this more than once"));
        let (all, part) = (mutation(1, "b; a", "c"), mutation(2, "b", "d"));
        assert!(why(&[&all, &part]).contains("another one is in the same place"));
    }
}
