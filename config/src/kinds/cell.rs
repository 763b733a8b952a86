//! What stands in a cell of a Markdown table: on one line, and nothing in it is taken for Markdown that is none.

/// A description: what stands between backticks is code, each line has one of its own.
pub(super) fn prose(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut is_code = false;
    let mut escaped = String::with_capacity(text.len());
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            escaped.push_str("<br>");
        }
        for char in line.chars() {
            is_code ^= char == '`';
            match char {
                '|' => escaped.push_str("\\|"),
                '<' if !is_code => escaped.push_str("&lt;"),
                '*' if !is_code => escaped.push_str("\\*"),
                other => escaped.push(other),
            }
        }
    }
    escaped
}

/// A text as code.
pub(super) fn code(text: &str) -> String {
    let text = text.replace('|', "\\|");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_stays_in_its_cell() {
        assert_eq!(prose("one <kind>, a|b:\n\n- `x*|<y>`\n"), "one &lt;kind>, a\\|b:<br>- `x*\\|<y>`");
        assert_eq!(prose("all of *.kubeconfig"), "all of \\*.kubeconfig");
    }

    #[test]
    fn code_may_hold_bars_and_backticks() {
        assert_eq!(code("^(a|b)$"), "`^(a\\|b)$`");
        assert_eq!(code("a`b"), "`` a`b ``");
    }
}
