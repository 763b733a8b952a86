//! Snapshots of RGDs: their names, and when two specs are one.

use broker_api::graphs::{Resource, ResourceGraphDefinitionSpec, Selector, keys};
use sha2::{Digest, Sha256};

use crate::canonical::{self, MAX_DEPTH, TooDeep, fields_are_within};

/// Longest name of an object.
const MAX_NAME: usize = 253;

/// Hex digits of the label.
const HASH: usize = 16;

/// Levels that the specs add around what people write into them freely.
const AROUND: usize = 4;

/// Name of a GraphRevision: `<rgd>-r%05d`, or with the RGD's name cut and `-<FNV-1a of the whole name>` at the end where
/// that is longer than a name may be.
pub fn name(rgd: &str, revision: i64) -> String {
    let whole = format!("{rgd}-r{revision:05}");
    if whole.len() <= MAX_NAME {
        return whole;
    }
    let end = format!("-r{revision:05}-{:08x}", fnv32a(rgd));
    let kept = rgd.get(..rgd.floor_char_boundary(MAX_NAME - end.len())).unwrap_or_default();
    // Before the dash a dot would make an empty, or a dash-led, part: not a DNS name.
    let kept = kept.trim_end_matches(['.', '-']);
    format!("{}{end}", if kept.is_empty() { "gr" } else { kept })
}

/// 32-bit FNV-1a (<http://www.isthe.com/chongo/tech/comp/fnv/>).
fn fnv32a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// What a spec says, whichever way it is written: SHA-256 over its normal form.
///
/// The order of resources, of `readyWhen` and of `includeWhen` makes no difference, nor do the order of keys, how numbers
/// are written, fields that are empty or absent, and defaults that are written out. The order of `forEach` makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Content([u8; 32]);

impl Content {
    /// Of a spec; one that nests too deep has none.
    pub fn of(spec: &ResourceGraphDefinitionSpec) -> Result<Self, TooDeep> {
        let schema = &spec.schema;
        let free = [&schema.spec, &schema.types, &schema.status];
        let templates = spec.resources.iter().filter_map(|resource| resource.template.as_ref());
        if !free.into_iter().chain(templates).all(|fields| fields_are_within(fields, MAX_DEPTH - AROUND)) {
            return Err(TooDeep);
        }
        let text = canonical::text(&serde_json::to_value(normal(spec.clone())).map_err(|_| TooDeep)?)?;
        Ok(Self(Sha256::digest(text.as_bytes()).into()))
    }

    /// Value of the label [`keys::REVISION_HASH`], for people. Not kro's value: compare contents, never labels.
    pub fn label(&self) -> String {
        let mut text = hex::encode(self.0);
        text.truncate(HASH);
        text
    }
}

/// Whether two specs say the same.
pub fn same_content(one: &ResourceGraphDefinitionSpec, other: &ResourceGraphDefinitionSpec) -> Result<bool, TooDeep> {
    Ok(Content::of(one)? == Content::of(other)?)
}

/// The spec with everything in one order, and nothing that says what its absence says too. Serialising leaves out what is
/// empty.
fn normal(mut spec: ResourceGraphDefinitionSpec) -> ResourceGraphDefinitionSpec {
    if spec.schema.group.is_empty() {
        keys::GROUP.clone_into(&mut spec.schema.group);
    }
    for column in &mut spec.schema.additional_printer_columns {
        column.description = column.description.take().filter(|text| !text.is_empty());
        column.format = column.format.take().filter(|text| !text.is_empty());
        column.priority = column.priority.filter(|priority| *priority != 0);
    }
    for resource in &mut spec.resources {
        normalise(resource);
    }
    // Ids are unique in a graph that compiles; in another one equal ids stay in their order.
    spec.resources.sort_by(|one, other| one.id.cmp(&other.id));
    spec
}

fn normalise(resource: &mut Resource) {
    resource.ready_when.sort_unstable();
    resource.include_when.sort_unstable();
    let Some(external) = &mut resource.external_ref else { return };
    let metadata = &mut external.metadata;
    metadata.namespace = metadata.namespace.take().filter(|namespace| !namespace.is_empty());
    metadata.name = metadata.name.take().filter(|name| !name.is_empty());
    if let Some(Selector::Labels(selector)) = &mut metadata.selector {
        selector.match_labels = selector.match_labels.take().filter(|labels| !labels.is_empty());
        selector.match_expressions = selector.match_expressions.take().filter(|all| !all.is_empty());
        for expression in selector.match_expressions.iter_mut().flatten() {
            expression.values = expression.values.take().filter(|values| !values.is_empty());
        }
    }
}
