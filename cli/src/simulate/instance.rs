//! `Instance`: what an instance of a graph would have, and who would take it and them.

use std::path::Path;

use broker_core::snapshot::OriginKey;
use graphs_core::limits;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Offline, Simulated, Told, children::Children, cluster, code, defining, left_out, lines, object::Object,
    outlook::Outlook, problem::Problem,
};
use crate::{
    access::Access,
    paint::{Paint, harmless},
};

/// What an instance of a graph would have.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Instance {
    /// What would become of itself; null where no AcceptAPI speaks of its kind.
    pub(super) object: Option<Outlook>,
    /// Name of its ResourceGraphDefinition.
    pub(super) definition: String,
    /// The revision that serves it in its cluster; null where a file has it.
    pub(super) revision: Option<i64>,
    /// Its children.
    pub(super) children: Children,
    /// What an API server would refuse of it, or drop.
    pub(super) problems: Vec<Problem>,
    /// Which checks were left out, and why.
    pub(super) not_checked: Option<String>,
    /// What could not be known of who would take it and them.
    pub(super) not_known: Vec<String>,
}

impl Instance {
    fn draw(&self, key: &OriginKey, whole: bool) -> anyhow::Result<String> {
        let paint = Paint::of_output();
        let mut text = lines(&self.problems);
        if let Some(outlook) = &self.object {
            text.push_str(&format!("{}\n", outlook.draw(paint)));
        }
        let revision = self.revision.map(|number| format!(", revision {number}")).unwrap_or_default();
        let head = format!("{key} would have, by ResourceGraphDefinition {}{revision}:", self.definition);
        text.push_str(&format!("{}\n{}", harmless(&head), self.children.draw(paint, whole)?));
        let left_out = self.not_checked.iter().map(|why| format!("not checked: {why}"));
        for line in left_out.chain(self.not_known.iter().map(|why| format!("not known: {why}"))) {
            text.push_str(&format!("\n{}\n", harmless(&line)));
        }
        Ok(text)
    }

    /// What is printed of it.
    pub(super) fn told(self, key: &OriginKey) -> anyhow::Result<Told> {
        let own = self.object.as_ref().map_or(0, code);
        let code = if own == 0 { u8::from(!self.children.is_sound()) } else { own };
        let (text, wide) = (self.draw(key, false)?, self.draw(key, true)?);
        Ok(Told { text, wide: Some(wide), value: Simulated::Instance(Box::new(self)), code })
    }
}

/// By the ResourceGraphDefinitions of a file, and AcceptAPIs of files.
pub(super) async fn by_files(
    access: &Access,
    offline: &Offline<'_>,
    file: &Path,
    object: &Object,
) -> anyhow::Result<Told> {
    let definition = match defining(file, object)? {
        Ok(definition) => definition,
        Err(problems) => return Ok(Told::problems(problems)),
    };
    let cluster = cluster(access).await?;
    let evaluator = limits::evaluator();
    let checked = definition.check(cluster.as_ref(), &evaluator).await?;
    let graph = match checked.graph {
        Ok(graph) => graph,
        Err(problems) => return Ok(Told::problems(problems)),
    };
    let mut children = Children::of(&graph, &object.value, &evaluator);
    for child in children.nodes.iter_mut().filter(|child| child.is_made()) {
        // All of them are of one kind: each is brokered, or none is.
        let outlooks = child.objects.iter().filter_map(|object| offline.of_child(object).transpose());
        child.placement = outlooks.collect::<anyhow::Result<Vec<_>>>()?;
    }
    let speaking = offline.apis.speaking(&object.kind, &offline.plural(object));
    let instance = Instance {
        object: if speaking.is_empty() { None } else { Some(offline.of(object)?) },
        definition: definition.name().to_owned(),
        revision: None,
        problems: object.document.flaws(&children.flaws),
        children,
        not_checked: left_out(cluster.as_ref(), &checked.unknown),
        not_known: Vec::new(),
    };
    instance.told(&object.key(&offline.consumer()))
}
