//! The plural of a kind: the name under which API servers serve it. It can never change, so these are kro's rules, letter
//! by letter, good English or not.
//!
//! kro itself writes kinds that are acronyms of networks, such as `DNS`, partly in capitals, which no API server takes: here
//! they follow the rules that all other words follow.

mod words;

use self::words::{ENDINGS, WHOLE, WORDS};

/// The plural of a kind, in lower case. The kind is taken as one word.
pub fn of(kind: &str) -> String {
    let word = kind.to_lowercase();
    whole(&word)
        .or_else(|| ending_word(&word))
        .or_else(|| ending(&word))
        .unwrap_or_else(|| if word.ends_with('s') { word.clone() } else { format!("{word}s") })
}

/// Words that are listed, as a whole, and words that are plurals of those already.
fn whole(word: &str) -> Option<String> {
    let listed = WHOLE.iter().find(|(singular, _)| *singular == word).map(|(_, plural)| *plural);
    let is_plural = || WHOLE.iter().chain(&WORDS).any(|(_, plural)| *plural == word);
    listed.map(str::to_owned).or_else(|| is_plural().then(|| word.to_owned()))
}

/// Words that end in a listed one, or in the plural of one. The longest counts: `human` before `man`.
fn ending_word(word: &str) -> Option<String> {
    let ends = WORDS.iter().flat_map(|(singular, plural)| [(*singular, *plural), (*plural, *plural)]);
    let longest = ends.filter(|(end, _)| word.ends_with(end)).max_by_key(|(end, _)| end.len());
    longest.and_then(|(end, plural)| replaced(word, end, plural))
}

/// Words with an ending that is listed, or that is one of the plural already.
fn ending(word: &str) -> Option<String> {
    ENDINGS.iter().find_map(|(end, plural)| {
        replaced(word, end, plural).or_else(|| word.ends_with(plural).then(|| word.to_owned()))
    })
}

fn replaced(word: &str, end: &str, plural: &str) -> Option<String> {
    word.strip_suffix(end).map(|beginning| format!("{beginning}{plural}"))
}
