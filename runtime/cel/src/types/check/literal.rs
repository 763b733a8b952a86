//! Lists and maps as they are written: `[a, ?b]`, `{k: v, ?k: o}`.

use cel_interpreter::{
    common::ast::{EntryExpr, ListExpr, MapExpr},
    parser::Expression,
};

use super::{Checker, TypeError, strange};
use crate::types::cel_type::Type;

impl<'a> Checker<'a> {
    pub(super) fn list(&mut self, list: &'a ListExpr) -> Result<Type, TypeError> {
        let mut optionals = list.optional_indices.iter().copied().peekable();
        let mut joined = None;
        for (index, element) in list.elements.iter().enumerate() {
            let optional = optionals.next_if_eq(&index).is_some();
            let found = self.element(element, optional)?;
            joined = Some(self.join(joined, found)?);
        }
        Ok(Type::list(match joined {
            Some(joined) => joined,
            None => self.unknown()?,
        }))
    }

    pub(super) fn map(&mut self, map: &'a MapExpr) -> Result<Type, TypeError> {
        let mut joined = None;
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(strange());
            };
            let key = self.infer(&entry.key)?;
            let value = self.element(&entry.value, entry.optional)?;
            joined = Some(match joined {
                None => (key, value),
                Some((keys, values)) => (self.join(Some(keys), key)?, self.join(Some(values), value)?),
            });
        }
        let (key, value) = match joined {
            Some(joined) => joined,
            None => (self.unknown()?, self.unknown()?),
        };
        Ok(Type::map(key, value))
    }

    /// Behind a `?` stands an optional, of which there is what it holds.
    fn element(&mut self, element: &'a Expression, optional: bool) -> Result<Type, TypeError> {
        let found = self.infer(element)?;
        match found {
            Type::Optional(inner) if optional => Ok((*inner).clone()),
            Type::Dyn => Ok(Type::Dyn),
            found if optional => {
                let found = self.unifier.ground(&found)?;
                Err(TypeError::mismatch(&Type::optional(found.clone()), &found))
            }
            found => Ok(found),
        }
    }

    /// The type of elements, some of which are of one type, some of another; dyn where they do not go together.
    fn join(&mut self, known: Option<Type>, found: Type) -> Result<Type, TypeError> {
        let Some(known) = known else {
            return Ok(found);
        };
        if self.unifier.takes_one(&known, &found)? {
            return Ok(self.unifier.general(&known, &found)?);
        }
        Ok(Type::Dyn)
    }

    /// A type of which nothing is known yet.
    fn unknown(&mut self) -> Result<Type, TypeError> {
        Ok(Type::Param(self.unifier.fresh(1)?))
    }
}
