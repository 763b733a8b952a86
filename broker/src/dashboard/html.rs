//! `Html`: markup, which is written in this program's source, and text, which comes from anywhere.

use std::fmt::{self, Write};

/// Markup as it grows. What was not written in this program's source gets into it by [`Html::text`] only, which leaves no
/// character with a meaning in it: neither for HTML, between tags and in quoted values, nor for who reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Html(String);

impl Html {
    /// Markup.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text.
    pub(super) fn text(&mut self, text: impl fmt::Display) -> &mut Self {
        // Writing to a String cannot fail, and what cannot be printed is left out.
        let _ = write!(Escaping(&mut self.0), "{text}");
        self
    }

    /// So many characters of a text; what was cut off is shown to be.
    pub(super) fn cut(&mut self, text: &str, most: usize) -> &mut Self {
        match text.char_indices().nth(most) {
            Some((end, _)) => self.text(&text[..end]).raw("…"),
            None => self.text(text),
        }
    }

    /// Other markup.
    pub(super) fn put(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// How many bytes it has.
    pub(super) fn bytes(&self) -> usize {
        self.0.len()
    }

    /// As a browser gets it.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// As a browser gets it.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Takes text, and writes it so that it is nothing but text.
struct Escaping<'a>(&'a mut String);

impl Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            match letter {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // Events end lines and frames by these.
                '\n' | '\r' | '\t' => self.0.push(' '),
                hidden if is_hidden(hidden) => self.0.extend(hidden.escape_unicode()),
                plain => self.0.push(plain),
            }
        }
        Ok(())
    }
}

/// Whether a character is not seen, or changes how others are: it would let a text look like another.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> String {
        let mut html = Html::default();
        html.text(text);
        html.into_string()
    }

    #[test]
    fn no_text_is_markup() {
        assert_eq!(escaped("<script>alert(1)</script>"), "&lt;script&gt;alert(1)&lt;/script&gt;");
        assert_eq!(escaped(r#"" onload='x' & "#), "&quot; onload=&#39;x&#39; &amp; ");
        assert_eq!(escaped("&lt;"), "&amp;lt;");
        assert_eq!(escaped("plain-text.1 größer 漢字"), "plain-text.1 größer 漢字");
    }

    #[test]
    fn nothing_is_hidden_and_nothing_ends_a_line() {
        assert_eq!(escaped("a\nb\r\nc\td"), "a b  c d");
        assert_eq!(escaped("a\0b\u{1b}[31m\u{7f}\u{85}"), r"a\u{0}b\u{1b}[31m\u{7f}\u{85}");
        assert_eq!(escaped("user\u{202e}nimda\u{2066}"), r"user\u{202e}nimda\u{2066}");
        assert_eq!(escaped("a\u{200b}b\u{feff}\u{e0041}\u{2028}"), r"a\u{200b}b\u{feff}\u{e0041}\u{2028}");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let cut = |text: &str, most| {
            let mut html = Html::default();
            html.cut(text, most);
            html.into_string()
        };
        assert_eq!((cut("äöü", 3), cut("äöü", 2), cut("", 0)), ("äöü".into(), "äö…".into(), String::new()));
        assert_eq!(cut("<<", 1), "&lt;…");
    }

    #[test]
    fn whatever_is_printed_is_text() {
        let mut html = Html::default();
        html.raw("<b title=\"").text(format_args!("{}\"{}", 1, '<')).raw("\">").text(42).raw("</b>");
        assert_eq!((html.as_str(), html.bytes()), ("<b title=\"1&quot;&lt;\">42</b>", 29));
        let mut other = Html::default();
        other.put(&html);
        assert_eq!(other, html);
    }
}
