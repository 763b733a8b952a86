//! `Fragment`: a part of a page that is sent again when it has changed.

use std::sync::Arc;

use super::html::Html;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fragment {
    /// The id of the element that holds it.
    pub(super) name: &'static str,
    /// What is in that.
    pub(super) html: Arc<Html>,
}

impl Fragment {
    /// One of this content.
    pub(super) fn new(name: &'static str, html: Html) -> Self {
        Self { name, html: Arc::new(html) }
    }

    /// As an event.
    pub(super) fn write_event(&self, events: &mut String) {
        events.push_str("event: ");
        events.push_str(self.name);
        for line in self.html.as_str().lines() {
            events.push_str("\ndata: ");
            events.push_str(line);
        }
        events.push_str("\n\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_ends_where_it_should() {
        let mut html = Html::default();
        html.raw("<p>").text("a\n\nevent: forged\r\rdata: x").raw("</p>\n<p>b</p>");
        let mut events = String::new();
        Fragment::new("part", html).write_event(&mut events);
        assert_eq!(events, "event: part\ndata: <p>a  event: forged  data: x</p>\ndata: <p>b</p>\n\n");
    }
}
