use graphs_core::plural;

use super::{each, equal, is_better, text};

#[test]
fn plurals_are_as_recorded() {
    each("plural.json", |entry| {
        let wanted = if is_better(entry) { text(entry, "better_plural") } else { text(entry, "plural") };
        equal("the plural", plural::of(text(entry, "kind")).as_str(), wanted)
    });
}
