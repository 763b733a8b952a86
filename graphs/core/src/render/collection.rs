//! The objects that `forEach` makes.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::{
    Renderer, Stopped, text_at,
    values::{Local, stopped},
};
use crate::graph::Resource;

impl Renderer<'_> {
    /// One object for each combination; the first dimension is the outermost.
    pub(super) fn expanded(&mut self, resource: &Resource) -> Result<Vec<Value>, Stopped> {
        let mut lists: Vec<Vec<Arc<Value>>> = Vec::with_capacity(resource.dimensions.len());
        for dimension in &resource.dimensions {
            let place = || format!("forEach {:?}", dimension.iterator);
            let list = self.values.once(&dimension.list).map_err(|error| stopped(&place(), &error))?;
            match list.as_ref() {
                Value::Array(elements) => lists.push(elements.iter().cloned().map(Arc::new).collect()),
                _ => return Err(Stopped::Failed(format!("{} is no list", place()))),
            }
        }
        // Whatever the others hold: a list without elements makes none.
        let any_empty = lists.iter().any(Vec::is_empty);
        let size =
            if any_empty { 0 } else { lists.iter().fold(1, |size: usize, list| size.saturating_mul(list.len())) };
        let most = self.graph.bounds.collection;
        if size > most {
            return Err(Stopped::Failed(format!(
                "collection size of {size} is over the maximum collection size of {most}"
            )));
        }
        let mut objects = Vec::with_capacity(size);
        for index in 0..size {
            let locals = combination(resource, &lists, index);
            objects.push(self.object(resource, &locals)?);
        }
        unique(&objects)?;
        Ok(objects)
    }
}

/// The combination at this place.
fn combination<'r>(resource: &'r Resource, lists: &[Vec<Arc<Value>>], index: usize) -> Vec<Local<'r>> {
    let (mut rest, mut locals) = (index, Vec::with_capacity(lists.len()));
    for (dimension, list) in resource.dimensions.iter().zip(lists).rev() {
        let length = list.len().max(1);
        if let Some(value) = list.get(rest % length) {
            let (value, of) = (Arc::clone(value), dimension.element.clone());
            locals.push(Local { name: &dimension.iterator, value, of });
        }
        rest /= length;
    }
    locals
}

fn unique(objects: &[Value]) -> Result<(), Stopped> {
    let mut seen = BTreeSet::new();
    for object in objects {
        let (namespace, name) = (text_at(object, "namespace"), text_at(object, "name"));
        if !seen.insert((namespace, name)) {
            return Err(Stopped::Failed(format!(
                "identity collision: two items are {namespace}/{name}; use all iterators in metadata.name"
            )));
        }
    }
    Ok(())
}
