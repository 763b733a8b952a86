//! `Unifier`: what the parameters of functions stand for, found out argument by argument.
//!
//! As cel-go does it: a parameter takes the first type it meets, and one that is more general when it meets such a one
//! later (`dyn` after `int`); an attempt that fails leaves nothing behind.

use super::{
    budget::{Budget, Overrun},
    cel_type::Type,
};

/// What parameters stand for.
#[derive(Debug, Default)]
pub(super) struct Unifier {
    bound: Vec<Option<Type>>,
    /// What was bound before, newest last: to take back an attempt.
    trail: Vec<(u32, Option<Type>)>,
    budget: Budget,
}

/// What became of a parameter that met a type.
#[derive(PartialEq, Eq)]
enum Met {
    /// It stands for it, or for something that takes it.
    Yes,
    /// It stands for something else.
    No,
    /// It stands for nothing, and cannot for this: it occurs in it.
    Circular,
}

impl Unifier {
    /// So many parameters that stand for nothing yet; the number of the first.
    pub(super) fn fresh(&mut self, count: u32) -> Result<u32, Overrun> {
        let first = u32::try_from(self.bound.len()).map_err(|_| Overrun)?;
        for _ in 0..count {
            self.budget.look(0)?;
            self.bound.push(None);
        }
        Ok(first)
    }

    /// Whether values of these types can be given where those are taken, one by one; then parameters stand for it from now on.
    pub(super) fn takes(&mut self, given: &[Type], taken: &[Type]) -> Result<bool, Overrun> {
        if given.len() != taken.len() {
            return Ok(false);
        }
        let before = self.trail.len();
        for (given, taken) in given.iter().zip(taken) {
            if !self.assign(given, taken, 0)? {
                self.undo(before);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The same for one.
    pub(super) fn takes_one(&mut self, given: &Type, taken: &Type) -> Result<bool, Overrun> {
        self.takes(std::slice::from_ref(given), std::slice::from_ref(taken))
    }

    /// The type of a value that may be of either, which go together.
    pub(super) fn general(&mut self, one: &Type, other: &Type) -> Result<Type, Overrun> {
        Ok(if self.covers(one, other, 0)? { one.clone() } else { other.clone() })
    }

    /// With what parameters stand for; one that stands for nothing remains.
    pub(super) fn resolve(&mut self, open: &Type) -> Result<Type, Overrun> {
        self.substitute(open, false, 0)
    }

    /// The same; one that stands for nothing is dyn.
    pub(super) fn ground(&mut self, open: &Type) -> Result<Type, Overrun> {
        self.substitute(open, true, 0)
    }

    /// Whether two types are the same, parameters and all.
    pub(super) fn same(&mut self, one: &Type, other: &Type) -> Result<bool, Overrun> {
        self.equal(one, other, 0)
    }

    fn undo(&mut self, before: usize) {
        while self.trail.len() > before {
            let Some((number, old)) = self.trail.pop() else { return };
            if let Some(slot) = self.slot(number) {
                *slot = old;
            }
        }
    }

    fn slot(&mut self, number: u32) -> Option<&mut Option<Type>> {
        usize::try_from(number).ok().and_then(|index| self.bound.get_mut(index))
    }

    fn bound(&mut self, number: u32) -> Option<Type> {
        self.slot(number).and_then(|slot| slot.clone())
    }

    fn bind(&mut self, number: u32, to: Type) {
        if let Some(slot) = self.slot(number) {
            let old = slot.replace(to);
            self.trail.push((number, old));
        }
    }

    fn assign(&mut self, given: &Type, taken: &Type, depth: u32) -> Result<bool, Overrun> {
        self.budget.look(depth)?;
        if let Type::Param(number) = taken {
            match self.meet(given, *number, depth)? {
                Met::Yes => return Ok(true),
                Met::No => return Ok(false),
                Met::Circular => {}
            }
        }
        if let Type::Param(number) = given {
            return Ok(self.meet(taken, *number, depth)? == Met::Yes);
        }
        Ok(match (given, taken) {
            // Of what a type is makes no difference.
            (Type::Dyn, _) | (_, Type::Dyn) | (Type::Type(_), Type::Type(_)) => true,
            (Type::Null, other) | (other, Type::Null) => takes_null(other),
            (Type::List(given), Type::List(taken)) | (Type::Optional(given), Type::Optional(taken)) => {
                self.assign(given, taken, depth + 1)?
            }
            (Type::Map(given), Type::Map(taken)) => {
                self.assign(&given.0, &taken.0, depth + 1)? && self.assign(&given.1, &taken.1, depth + 1)?
            }
            (given, taken) => plainly_equal(given, taken),
        })
    }

    fn meet(&mut self, met: &Type, number: u32, depth: u32) -> Result<Met, Overrun> {
        if matches!(met, Type::Param(other) if *other == number) {
            return Ok(Met::Yes);
        }
        let Some(bound) = self.bound(number) else {
            if self.occurs(number, met, depth)? {
                return Ok(Met::Circular);
            }
            self.bind(number, met.clone());
            return Ok(Met::Yes);
        };
        if self.equal(met, &bound, depth)? {
            return Ok(Met::Yes);
        }
        if !self.assign(met, &bound, depth + 1)? {
            return Ok(Met::No);
        }
        let general = if self.covers(met, &bound, depth)? { met.clone() } else { bound };
        if !self.occurs(number, &general, depth)? {
            self.bind(number, general);
        }
        Ok(Met::Yes)
    }

    fn occurs(&mut self, number: u32, within: &Type, depth: u32) -> Result<bool, Overrun> {
        self.budget.look(depth)?;
        match within {
            Type::Param(other) if *other == number => Ok(true),
            Type::Param(other) => match self.bound(*other) {
                Some(bound) => self.occurs(number, &bound, depth + 1),
                None => Ok(false),
            },
            Type::List(inner) | Type::Optional(inner) | Type::Type(inner) => self.occurs(number, inner, depth + 1),
            Type::Map(entry) => {
                Ok(self.occurs(number, &entry.0, depth + 1)? || self.occurs(number, &entry.1, depth + 1)?)
            }
            _ => Ok(false),
        }
    }

    fn substitute(&mut self, open: &Type, to_dyn: bool, depth: u32) -> Result<Type, Overrun> {
        self.budget.look(depth)?;
        Ok(match open {
            Type::Param(number) => match self.bound(*number) {
                Some(bound) => self.substitute(&bound, to_dyn, depth + 1)?,
                None if to_dyn => Type::Dyn,
                None => open.clone(),
            },
            Type::List(inner) => Type::list(self.substitute(inner, to_dyn, depth + 1)?),
            Type::Optional(inner) => Type::optional(self.substitute(inner, to_dyn, depth + 1)?),
            Type::Type(inner) => Type::of(self.substitute(inner, to_dyn, depth + 1)?),
            Type::Map(entry) => {
                let key = self.substitute(&entry.0, to_dyn, depth + 1)?;
                Type::map(key, self.substitute(&entry.1, to_dyn, depth + 1)?)
            }
            other => other.clone(),
        })
    }

    /// Whether the first says no more than the second: it is the same, with dyn or a parameter in places.
    fn covers(&mut self, one: &Type, other: &Type, depth: u32) -> Result<bool, Overrun> {
        self.budget.look(depth)?;
        Ok(match (one, other) {
            (Type::Dyn | Type::Param(_), _) | (Type::Type(_), Type::Type(_)) => true,
            (_, Type::Dyn | Type::Param(_)) => false,
            (Type::List(one), Type::List(other)) | (Type::Optional(one), Type::Optional(other)) => {
                self.covers(one, other, depth + 1)?
            }
            (Type::Map(one), Type::Map(other)) => {
                self.covers(&one.0, &other.0, depth + 1)? && self.covers(&one.1, &other.1, depth + 1)?
            }
            (one, other) => plainly_equal(one, other),
        })
    }

    fn equal(&mut self, one: &Type, other: &Type, depth: u32) -> Result<bool, Overrun> {
        self.budget.look(depth)?;
        Ok(match (one, other) {
            (Type::List(one), Type::List(other))
            | (Type::Optional(one), Type::Optional(other))
            | (Type::Type(one), Type::Type(other)) => self.equal(one, other, depth + 1)?,
            (Type::Map(one), Type::Map(other)) => {
                self.equal(&one.0, &other.0, depth + 1)? && self.equal(&one.1, &other.1, depth + 1)?
            }
            (one, other) => plainly_equal(one, other),
        })
    }
}

/// For types with nothing inside.
fn plainly_equal(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::List(_) | Type::Map(_) | Type::Optional(_) | Type::Type(_), _) => false,
        (one, other) => one == other,
    }
}

/// Whether `null` can be given for it; CEL's texts, numbers, lists and maps are never null.
fn takes_null(taken: &Type) -> bool {
    matches!(
        taken,
        Type::Null | Type::Struct(_) | Type::Native(_) | Type::Optional(_) | Type::Timestamp | Type::Duration
    )
}
