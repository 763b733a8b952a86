//! Whether a text is PEM, as it must be before anybody else reads it: parsers quote what they do not understand, and a key
//! whose line breaks were lost is one such line.

/// Longest label of a section: `ENCRYPTED PRIVATE KEY`.
const LONGEST: usize = 32;

/// Whether a text holds sections, at least one, each between its marks on lines of their own; what is around them does not
/// count.
pub(super) fn is_pem(text: &[u8]) -> bool {
    let (mut open, mut found, mut marks) = (None, false, 0);
    for line in text.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii) {
        if !line.starts_with(b"-----BEGIN") && !line.starts_with(b"-----END") {
            continue;
        }
        marks += 1;
        let mark = line.strip_prefix(b"-----").and_then(|line| line.strip_suffix(b"-----")).unwrap_or_default();
        match (open, mark.strip_prefix(b"BEGIN "), mark.strip_prefix(b"END ")) {
            (None, Some(label), _) if is_label(label) => open = Some(label),
            (Some(label), _, Some(end)) if end == label => (open, found) = (None, true),
            _ => return false,
        }
    }
    found && open.is_none() && count(text, b"-----BEGIN") + count(text, b"-----END") == marks
}

fn is_label(label: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ';
    !label.is_empty() && label.len() <= LONGEST && label.iter().all(fits)
}

fn count(text: &[u8], mark: &[u8]) -> usize {
    text.windows(mark.len()).filter(|window| *window == mark).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_stand_on_lines_of_their_own() {
        let section = "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n";
        let bag = format!("Bag Attributes\n  friendlyName: a\n{section}\nsubject=/CN=a\n{section}");
        for text in [section, section.trim_end(), &section.replace('\n', "\r\n"), &bag, &format!("  {section}")] {
            assert!(is_pem(text.as_bytes()), "{text:?}");
        }
        for text in [
            "",
            "AAAA",
            "-----BEGIN EC PRIVATE KEY-----\nAAAA",
            "-----END EC PRIVATE KEY-----",
            &section.replace('\n', " "),
            &section.replace('\n', ""),
            &section.replace("BEGIN EC", "BEGIN RSA"),
            &section.replace("EC", "e\u{6}c"),
            &section.replace("EC", &"E".repeat(40)),
            &section.replace("-----\nAAAA", "\nAAAA"),
            &format!("{section}x {section}"),
            &section.replace("AAAA", section.trim_end()),
        ] {
            assert!(!is_pem(text.as_bytes()), "{text:?}");
        }
    }
}
