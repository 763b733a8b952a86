//! `Path`: where in a template something stands; written out only for people.

use std::fmt;

/// How much of a key is told, in characters.
const SHOWN: usize = 80;

/// A step from an object or list to what is in it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// The steps from the top.
#[derive(Debug, Default)]
pub(super) struct Path<'a>(pub(super) Vec<Step<'a>>);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(at) => write!(f, "[{at}]")?,
                Step::Key(key) => {
                    let end = key.char_indices().nth(SHOWN).map_or(key.len(), |(end, _)| end);
                    let shown = key.get(..end).unwrap_or_default();
                    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-/".contains(&byte);
                    if key.is_empty() || !shown.bytes().all(plain) {
                        write!(f, "[{shown:?}]")?;
                    } else {
                        write!(f, "{}{shown}", if index > 0 { "." } else { "" })?;
                    }
                }
            }
        }
        Ok(())
    }
}
