//! `Frame`: what is around the content of every page.

use super::{fragment::Fragment, html::Html, query::Encoded};

/// See the module.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    /// What the page is about.
    pub(super) title: &'a str,
    /// What stands in the field of the search.
    pub(super) search: &'a str,
    /// From where its fragments are sent again; `None`: it stays as it is.
    pub(super) events: Option<&'a str>,
}

impl Frame<'_> {
    /// The whole page.
    pub(super) fn around(&self, content: &Html) -> Html {
        let mut page = Html::default();
        page.raw(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>",
        );
        page.cut(self.title, 200);
        page.raw(
            " – resource broker</title>\n<link rel=\"icon\" href=\"icon.svg\" type=\"image/svg+xml\">\n\
             <link rel=\"stylesheet\" href=\"style.css\">\n\
             <script src=\"script.js\" defer></script>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to the content</a>\n\
             <header>\n<p class=\"brand\"><a href=\"./\">Resource broker</a></p>\n\
             <form role=\"search\" action=\"search\" method=\"get\">\n\
             <label for=\"q\">Find an object</label>\n\
             <input id=\"q\" name=\"q\" type=\"search\" maxlength=\"200\" autocapitalize=\"none\" \
             autocomplete=\"off\" spellcheck=\"false\" placeholder=\"name, namespace or cluster\" value=\"",
        );
        page.text(self.search);
        page.raw(
            "\">\n<button type=\"submit\">Search</button>\n</form>\n\
             <p class=\"live\"><span id=\"connection\" role=\"status\"></span> \
             <button id=\"pause\" type=\"button\" aria-pressed=\"false\" hidden>Pause</button></p>\n</header>\n\
             <main id=\"main\" tabindex=\"-1\"",
        );
        if let Some(events) = self.events {
            page.raw(" data-events=\"").text(events).raw("\"");
        }
        page.raw(">\n").put(content).raw("\n</main>\n<footer><p>resource-broker ").text(env!("CARGO_PKG_VERSION"));
        page.raw(". This page changes nothing. What it shows is what this process holds in memory.</p></footer>\n</body>\n</html>\n");
        page
    }
}

/// A part of the content under a heading, which is sent again when it changes.
pub(super) fn section(content: &mut Html, title: &'static str, fragment: &Fragment) {
    content.raw("<section aria-labelledby=\"about-").raw(fragment.name).raw("\">\n<h2 id=\"about-").raw(fragment.name);
    content.raw("\">").raw(title).raw("</h2>\n<div id=\"").raw(fragment.name).raw("\">");
    content.put(&fragment.html).raw("</div>\n</section>\n");
}

/// Begins a table that may be wider than the window: who has no pointer scrolls it by keys.
pub(super) fn begin_table(html: &mut Html, caption: &'static str) {
    html.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"").raw(caption);
    html.raw("\"><table><caption>").raw(caption).raw("</caption>");
}

/// The heads of its columns, and the beginning of its rows.
pub(super) fn heads(html: &mut Html, columns: &[&'static str]) {
    html.raw("<thead><tr>");
    for column in columns {
        html.raw("<th scope=\"col\">").raw(column).raw("</th>");
    }
    html.raw("</tr></thead><tbody>");
}

/// Ends it.
pub(super) fn end_table(html: &mut Html) {
    html.raw("</tbody></table></div>");
}

/// Adds rows as long as they take no more than so many bytes. How many were left out.
pub(super) fn rows<T>(html: &mut Html, rows: &[T], bytes: usize, mut add: impl FnMut(&mut Html, &T)) -> usize {
    let most = html.bytes() + bytes;
    for (done, row) in rows.iter().enumerate() {
        if html.bytes() >= most {
            return rows.len() - done;
        }
        add(html, row);
    }
    0
}

/// Says how many are not shown, if any are not.
pub(super) fn more(html: &mut Html, more: usize, what: &'static str) {
    if more > 0 {
        html.raw("<p class=\"more\">And ").text(more).raw(" more ").raw(what).raw(".</p>");
    }
}

/// Where the trace of an object is.
pub(super) fn object_link(html: &mut Html, [cluster, kind, namespace, name]: [&str; 4]) {
    html.raw("object?cluster=").text(Encoded(cluster)).raw("&amp;kind=").text(Encoded(kind));
    html.raw("&amp;namespace=").text(Encoded(namespace)).raw("&amp;name=").text(Encoded(name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_typed_stays_in_its_field() {
        let hostile = "\"><script>alert(1)</script>";
        let frame = Frame { title: hostile, search: hostile, events: Some("events?name=\"x") };
        let mut content = Html::default();
        content.raw("<h1>Title</h1>");
        let page = frame.around(&content).into_string();
        assert_eq!(page.matches("<script").count(), 1, "our own");
        assert!(page.contains("value=\"&quot;&gt;&lt;script&gt;"));
        assert!(
            page.contains("<main id=\"main\" tabindex=\"-1\" data-events=\"events?name=&quot;x\">\n<h1>Title</h1>")
        );
        let still = Frame { events: None, ..frame }.around(&content).into_string();
        assert!(!still.contains("data-events"));
    }

    #[test]
    fn rows_stop_where_there_is_no_room() {
        let mut html = Html::default();
        let left = rows(&mut html, &["aaaa", "bbbb", "cccc", "dddd"], 6, |html, row| {
            html.text(row);
        });
        assert_eq!((html.as_str(), left), ("aaaabbbb", 2));
        more(&mut html, left, "rows");
        assert!(html.as_str().ends_with("And 2 more rows.</p>"));
    }

    #[test]
    fn links_lead_to_any_name() {
        let mut html = Html::default();
        object_link(&mut html, ["consumer#homer", "K.v1.g", "", "a&b\"c"]);
        assert_eq!(html.as_str(), "object?cluster=consumer%23homer&amp;kind=K.v1.g&amp;namespace=&amp;name=a%26b%22c");
    }
}
