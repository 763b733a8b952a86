//! What CRDs say of the kinds, as people read it: a page for each in `docs/kinds/`, and one that lists them.

mod cell;
mod field;
mod page;

use std::{collections::BTreeMap, fmt::Write as _};

use broker_api::crds::FilesError;

pub use self::page::HEADER;
use self::page::Page;

/// The folder of the pages, seen from `config/`.
const FOLDER: &str = "../docs/kinds";

/// What the list says before it begins.
const ABOUT: &str = "\
# Kinds

A page for each, with all of its fields. Where a CRD is installed `kubectl explain` says the same, such as
`kubectl explain acceptapi.spec`. Kinds of groups that end in `generic.platform-mesh.io`, and those of
`example.platform-mesh.io`, are there to be brokered; any other kind can be, too.

";

/// All pages by their path, seen from `config/`.
pub fn files() -> Result<BTreeMap<String, String>, FilesError> {
    let mut pages = Vec::new();
    for (folder, crds) in [("crd", broker_api::crds()), ("crd-graphs", broker_api::graphs::crds::crds())] {
        for crd in crds {
            pages.push(Page::new(folder, serde_json::to_value(crd)?));
        }
    }
    let mut files = BTreeMap::from([(format!("{FOLDER}/README.md"), list(&pages))]);
    files.extend(pages.iter().map(|page| (format!("{FOLDER}/{}", name(page, &pages)), page.text())));
    Ok(files)
}

/// The name of a page: that of its kind; where several have that, with the first part of its group.
fn name(page: &Page, all: &[Page]) -> String {
    let kind = page.kind().to_lowercase();
    let is_alone = all.iter().filter(|other| other.kind() == page.kind()).count() == 1;
    match page.group().split('.').next() {
        Some(part) if !is_alone => format!("{kind}.{part}.md"),
        _ => format!("{kind}.md"),
    }
}

/// The page that lists them, by group.
fn list(pages: &[Page]) -> String {
    let mut sorted: Vec<&Page> = pages.iter().collect();
    sorted.sort_by_key(|page| (page.group(), page.kind()));
    let mut text = format!("{HEADER}{ABOUT}| kind | group | short | scope | |\n|---|---|---|---|---|\n");
    for page in sorted {
        let (kind, group, file) = (page.kind(), cell::code(page.group()), name(page, pages));
        let (short, scope, about) = (page.short(), page.scope(), page.summary());
        let _ = writeln!(text, "| [{kind}]({file}) | {group} | {short} | {scope} | {about} |");
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn page(group: &str, kind: &str) -> Page {
        let names = json!({"kind": kind, "plural": kind.to_lowercase()});
        Page::new("crd", json!({"spec": {"group": group, "names": names, "scope": "Namespaced", "versions": []}}))
    }

    #[test]
    fn kinds_of_one_name_are_told_apart_by_their_groups() {
        let pages = [page("a.example.org", "Certificate"), page("b.example.org", "Certificate"), page("a.org", "VM")];
        let names: Vec<_> = pages.iter().map(|one| name(one, &pages)).collect();
        assert_eq!(names, ["certificate.a.md", "certificate.b.md", "vm.md"]);
    }

    #[test]
    fn every_kind_has_a_page_and_a_row() {
        let files = files().unwrap();
        let crds = broker_api::crds().len() + broker_api::graphs::crds::crds().len();
        assert_eq!(files.len(), crds + 1, "two kinds have one page");
        let (list, pages): (Vec<_>, Vec<_>) = files.iter().partition(|(path, _)| path.ends_with("/README.md"));
        let list = list.first().unwrap().1;
        for (path, text) in pages {
            let (_, name) = path.rsplit_once('/').unwrap();
            assert!(list.contains(&format!("]({name})")), "{name} is not listed");
            assert!(text.starts_with(HEADER) && text.contains("\n| `spec` |"), "{path}: {text}");
        }
    }

    #[test]
    fn no_row_is_broken() {
        for (path, text) in files().unwrap() {
            let mut columns = None;
            for line in text.lines() {
                // A bar that is part of a cell is escaped.
                let bars = line.replace("\\|", "").matches('|').count();
                if line.starts_with('|') {
                    assert_eq!(*columns.get_or_insert(bars), bars, "{path}: {line}");
                } else {
                    columns = None;
                }
            }
        }
    }
}
