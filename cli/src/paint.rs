//! Colours, where somebody looks at a terminal.

use std::io::IsTerminal as _;

/// Whether there are colours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint(bool);

impl Paint {
    /// Colours where standard output is a terminal, unless `NO_COLOR` is set (no-color.org).
    pub(crate) fn of_output() -> Self {
        Self(std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()))
    }

    /// None.
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self(false)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// What matters less.
    pub(crate) fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    /// How something does.
    pub(crate) fn standing(self, text: &str, good: Option<bool>) -> String {
        match good {
            Some(true) => self.with("32", text),
            Some(false) => self.with("33", text),
            None => text.to_owned(),
        }
    }

    /// A heading.
    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }
}

/// Text from a cluster, without what a terminal would act on: neither consumers nor providers are trusted.
pub(crate) fn harmless(text: &str) -> String {
    // Beside control characters those that turn the direction of what follows.
    let acts = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|letter| if acts(letter) { '\u{fffd}' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_a_cluster_moves_the_cursor() {
        assert_eq!(harmless("a\x1b[2Jb\u{9b}31m\u{202e}c"), "a\u{fffd}[2Jb\u{fffd}31m\u{fffd}c");
        assert_eq!(harmless("Größe: 3"), "Größe: 3");
    }
}
