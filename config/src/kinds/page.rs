//! `Page`: what a CRD says of its kind.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    cell::{code, prose},
    field::{Field, fields},
};

/// First line of each page.
pub const HEADER: &str = "<!-- Generated from api/ with `make manifests`. Do not edit. -->\n";

/// One kind.
#[derive(Debug)]
pub(super) struct Page {
    /// Its CRD.
    crd: Value,
    /// The CRD's file, in the repository.
    file: String,
}

impl Page {
    /// Of a CRD whose file is in this folder of `config/`.
    pub(super) fn new(folder: &str, crd: Value) -> Self {
        let (group, plural) = (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["plural"]));
        let file = format!("config/{folder}/{group}_{plural}.yaml");
        Self { crd, file }
    }

    /// Its name.
    pub(super) fn kind(&self) -> &str {
        text(&self.crd["spec"]["names"]["kind"])
    }

    /// Its API group.
    pub(super) fn group(&self) -> &str {
        text(&self.crd["spec"]["group"])
    }

    /// `Namespaced` or `Cluster`.
    pub(super) fn scope(&self) -> &str {
        text(&self.crd["spec"]["scope"])
    }

    /// Its short names, as code.
    pub(super) fn short(&self) -> String {
        list(&self.crd["spec"]["names"]["shortNames"])
    }

    /// The first sentence of its description.
    pub(super) fn summary(&self) -> String {
        let description = text(&self.versions().next().unwrap_or(&Value::Null)["schema"][SCHEMA]["description"]);
        let sentence = description.split_inclusive(". ").next().unwrap_or_default();
        prose(sentence)
    }

    /// The page.
    pub(super) fn text(&self) -> String {
        let (kind, names) = (self.kind(), &self.crd["spec"]["names"]);
        let mut page = format!("{HEADER}# {kind}\n\nOne of [all kinds](README.md).\n\n| | |\n|---|---|\n");
        let versions: Vec<String> = self.versions().map(|version| code(text(&version["name"]))).collect();
        for (what, value) in [
            ("group", code(self.group())),
            ("version", versions.join(", ")),
            ("scope", self.scope().to_owned()),
            ("resource", code(text(&names["plural"]))),
            ("short names", self.short()),
            ("categories", list(&names["categories"])),
            ("CRD", format!("[{0}](../../{0})", self.file)),
        ] {
            if !value.is_empty() {
                let _ = writeln!(page, "| {what} | {value} |");
            }
        }
        for version in self.versions() {
            let _ = write!(page, "\n## {}\n\n", text(&version["name"]));
            page += &self.version(version);
        }
        page
    }

    fn version(&self, version: &Value) -> String {
        let schema = &version["schema"][SCHEMA];
        let mut part = paragraphs(text(&schema["description"]));
        part += "### Columns of `kubectl get`\n\n| column | shows | |\n|---|---|---|\n";
        for column in version["additionalPrinterColumns"].as_array().into_iter().flatten() {
            let (name, path) = (prose(text(&column["name"])), code(text(&column["jsonPath"])));
            let mut about = prose(text(&column["description"]));
            if column["priority"].as_i64().is_some_and(|priority| priority > 0) {
                let mark = if about.is_empty() { "" } else { "; " };
                about += mark;
                about += "with `-o wide`";
            }
            let _ = writeln!(part, "| {name} | {path} | {about} |");
        }
        part += "\n### Fields\n\n| field | type | required | default and validation | |\n|---|---|---|---|---|\n";
        part.extend(fields(self.kind(), schema).iter().map(Field::row));
        part
    }

    fn versions(&self) -> impl Iterator<Item = &Value> {
        self.crd["spec"]["versions"].as_array().into_iter().flatten()
    }
}

/// Where a version has its schema.
const SCHEMA: &str = "openAPIV3Schema";

/// Longest line of a text outside of tables.
const WIDTH: usize = 120;

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Texts as code.
fn list(texts: &Value) -> String {
    let texts: Vec<String> = texts.as_array().into_iter().flatten().filter_map(Value::as_str).map(code).collect();
    texts.join(", ")
}

/// A description in lines that people can read, and an empty one behind each paragraph.
fn paragraphs(description: &str) -> String {
    let mut lines = String::new();
    for paragraph in description.lines().filter(|paragraph| !paragraph.trim().is_empty()) {
        let mut width = 0;
        for word in paragraph.split_whitespace() {
            let length = word.chars().count();
            if width > 0 {
                let breaks = width + 1 + length > WIDTH;
                lines.push(if breaks { '\n' } else { ' ' });
                width = if breaks { 0 } else { width + 1 };
            }
            lines.push_str(word);
            width += length;
        }
        lines.push_str("\n\n");
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_says_what_its_crd_says() {
        let columns = json!([
            {"name": "Ready", "type": "string", "jsonPath": ".status.ready", "description": "Condition Ready"},
            {"name": "Group", "type": "string", "jsonPath": ".spec.group", "priority": 1},
        ]);
        let schema = json!({"description": "A thing. It is used.", "properties": {"spec": {"type": "object"}}});
        let crd = json!({"spec": {
            "group": "example.org",
            "names": {"kind": "Thing", "plural": "things", "shortNames": ["th", "tg"]},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "schema": {SCHEMA: schema}, "additionalPrinterColumns": columns}],
        }});
        let page = Page::new("crd", crd);
        assert_eq!(page.summary(), "A thing.");
        let expected = "\
# Thing

One of [all kinds](README.md).

| | |
|---|---|
| group | `example.org` |
| version | `v1` |
| scope | Namespaced |
| resource | `things` |
| short names | `th`, `tg` |
| CRD | [config/crd/example.org_things.yaml](../../config/crd/example.org_things.yaml) |

## v1

A thing. It is used.

### Columns of `kubectl get`

| column | shows | |
|---|---|---|
| Ready | `.status.ready` | Condition Ready |
| Group | `.spec.group` | with `-o wide` |

### Fields

| field | type | required | default and validation | |
|---|---|---|---|---|
| `spec` | any object |  |  |  |
";
        assert_eq!(page.text(), format!("{HEADER}{expected}"));
    }

    #[test]
    fn a_description_is_wrapped() {
        let text = paragraphs(&format!("{}\n\nmore", "word ".repeat(40).trim_end()));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[0].len() <= WIDTH && lines[0].len() > WIDTH - 6, "{text}");
        assert_eq!(lines[2..], ["", "more", ""]);
    }
}
