//! Who holds which field: what server-side apply and every other write leave behind in `managedFields`.

mod again;
mod compare;
mod element;
mod field_set;
mod managed;
mod merge;
mod remove;
mod typed;
mod writer;

pub(crate) use self::writer::{Refused, Writer};
