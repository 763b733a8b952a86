//! Reads PromQL as far as it takes to see which metrics and labels an expression names. What it does not know it refuses: a
//! function or an aggregation that is new here belongs into the lists below.

use std::collections::BTreeSet;

/// Words that take an expression in brackets.
const FUNCTIONS: [&str; 20] = [
    "absent",
    "avg",
    "clamp_min",
    "count",
    "delta",
    "group",
    "histogram_quantile",
    "increase",
    "max",
    "max_over_time",
    "min",
    "min_over_time",
    "quantile",
    "rate",
    "resets",
    "sum",
    "time",
    "timestamp",
    "topk",
    "vector",
];

/// Words before labels of what is grouped.
const GROUPED: [&str; 2] = ["by", "without"];

/// Words before labels of what is joined.
const JOINED: [&str; 4] = ["on", "ignoring", "group_left", "group_right"];

/// Words that stand by themselves.
const OPERATORS: [&str; 5] = ["and", "or", "unless", "bool", "offset"];

/// A piece of an expression.
#[derive(Debug, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    /// What stood in quotes, as it was written.
    Text(&'a str),
    /// A number, a duration, or a variable of a dashboard.
    Value,
    Mark(char),
}

/// One label of a selector, and what it is compared with.
#[derive(Debug, PartialEq)]
pub(super) struct Matcher {
    pub(super) label: String,
    pub(super) value: String,
}

/// A metric, as it is selected.
#[derive(Debug, PartialEq)]
pub(super) struct Selector {
    pub(super) metric: String,
    pub(super) matchers: Vec<Matcher>,
}

/// What an expression names.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Expression {
    pub(super) selectors: Vec<Selector>,
    /// Labels that something is grouped by.
    pub(super) grouped: BTreeSet<String>,
    /// Labels by which two sides are joined.
    pub(super) joined: BTreeSet<String>,
}

fn is_word(each: char) -> bool {
    each.is_ascii_alphanumeric() || each == '_' || each == ':'
}

/// Where the first character is that is not so.
fn end(text: &str, is: impl Fn(char) -> bool) -> usize {
    text.find(|each: char| !is(each)).unwrap_or(text.len())
}

/// Where the quotes end that the text begins with.
fn closing(text: &str, quote: char) -> Result<usize, String> {
    let mut escaped = false;
    for (at, each) in text.char_indices().skip(1) {
        match each {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if each == quote => return Ok(at),
            _ => {}
        }
    }
    Err(format!("no end of {text:?}"))
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            _ if first.is_whitespace() => (None, first.len_utf8()),
            '"' | '\'' => {
                let last = closing(rest, first)?;
                (Some(Token::Text(&rest[1..last])), last + 1)
            }
            '$' => (Some(Token::Value), 1 + end(&rest[1..], is_word)),
            '0'..='9' => (Some(Token::Value), end(rest, |each| is_word(each) || each == '.')),
            _ if is_word(first) => {
                let length = end(rest, is_word);
                (Some(Token::Word(&rest[..length])), length)
            }
            _ => (Some(Token::Mark(first)), first.len_utf8()),
        };
        found.extend(token);
        rest = &rest[length..];
    }
    Ok(found)
}

/// Every bracket is closed by its like.
fn balanced(tokens: &[Token<'_>]) -> Result<(), String> {
    let mut open = Vec::new();
    for token in tokens {
        let Token::Mark(mark) = token else { continue };
        match mark {
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' if open.pop() != Some(*mark) => return Err(format!("{mark:?} closes nothing")),
            _ => {}
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("not closed: {open:?}")) }
}

/// `(a, b)` at the beginning, and how many tokens that is.
fn labels(tokens: &[Token<'_>]) -> Result<(BTreeSet<String>, usize), String> {
    let mut found = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark('(') if at == 0 => {}
            Token::Mark(',') if at > 0 => {}
            Token::Word(label) if at > 0 => _ = found.insert((*label).to_owned()),
            Token::Mark(')') if at > 0 => return Ok((found, at + 1)),
            _ => break,
        }
    }
    Err(format!("not a list of labels: {tokens:?}"))
}

/// `{a="b", c=~"d"}` at the beginning, and how many tokens that is.
fn matchers(tokens: &[Token<'_>]) -> Result<(Vec<Matcher>, usize), String> {
    let mut found = Vec::new();
    let mut at = 1;
    loop {
        let (label, value, length) = match tokens.get(at..).unwrap_or_default() {
            [Token::Mark('}'), ..] => return Ok((found, at + 1)),
            [Token::Mark(','), ..] => {
                at += 1;
                continue;
            }
            [Token::Word(label), Token::Mark('='), Token::Text(value), ..] => (label, value, 3),
            [Token::Word(label), Token::Mark('='), Token::Mark('~'), Token::Text(value), ..]
            | [Token::Word(label), Token::Mark('!'), Token::Mark('=' | '~'), Token::Text(value), ..] => {
                (label, value, 4)
            }
            _ => return Err(format!("not a list of matchers: {tokens:?}")),
        };
        found.push(Matcher { label: (*label).to_owned(), value: (*value).to_owned() });
        at += length;
    }
}

/// What an expression names; `Err`: what of it is not understood.
pub(super) fn read(text: &str) -> Result<Expression, String> {
    let tokens = tokens(text)?;
    balanced(&tokens)?;
    let mut expression = Expression::default();
    let mut rest = &tokens[..];
    while let [token, after @ ..] = rest {
        rest = after;
        let word = match token {
            Token::Word(word) => *word,
            Token::Mark('{') => return Err("a selector names no metric".into()),
            _ => continue,
        };
        if OPERATORS.contains(&word) {
            continue;
        }
        let is_called = matches!(rest, [Token::Mark('('), ..]);
        if GROUPED.contains(&word) || JOINED.contains(&word) {
            if is_called {
                let (found, length) = labels(rest)?;
                let held = if GROUPED.contains(&word) { &mut expression.grouped } else { &mut expression.joined };
                held.extend(found);
                rest = &rest[length..];
            }
        } else if FUNCTIONS.contains(&word) {
            let is_grouped = matches!(rest, [Token::Word(next), ..] if GROUPED.contains(next));
            if !is_called && !is_grouped {
                return Err(format!("{word} is a function"));
            }
        } else if is_called {
            return Err(format!("{word} is no function that is known here"));
        } else {
            let mut selector = Selector { metric: word.to_owned(), matchers: Vec::new() };
            if matches!(rest, [Token::Mark('{'), ..]) {
                let (found, length) = matchers(rest)?;
                selector.matchers = found;
                rest = &rest[length..];
            }
            expression.selectors.push(selector);
        }
    }
    Ok(expression)
}

/// `label_values(SELECTOR, LABEL)`, as variables of dashboards have it: the selector, and the label.
pub(super) fn label_values(query: &str) -> Result<(Expression, &str), String> {
    let inner = query.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')'));
    let (selector, label) =
        inner.and_then(|inner| inner.rsplit_once(',')).ok_or_else(|| format!("not label_values: {query}"))?;
    Ok((read(selector)?, label.trim()))
}

#[test]
fn metrics_labels_and_groups_are_told_apart() {
    let text = r#"histogram_quantile(0.9, sum by (job, le) (rate(a_bucket{b=~"c|d", e!="f\"g"}[5m]) and on (job) (h == 1)))
        / i_total offset 1h > bool 2e3 or (k{l="$m"}[$__rate_interval])"#;
    let found = read(text).unwrap();
    let metrics: Vec<&str> = found.selectors.iter().map(|selector| &*selector.metric).collect();
    assert_eq!(metrics, ["a_bucket", "h", "i_total", "k"]);
    let matcher = |label: &str, value: &str| Matcher { label: label.into(), value: value.into() };
    assert_eq!(found.selectors[0].matchers, [matcher("b", "c|d"), matcher("e", r#"f\"g"#)]);
    assert_eq!(found.selectors[3].matchers, [matcher("l", "$m")]);
    assert_eq!(found.grouped, BTreeSet::from(["job".into(), "le".into()]));
    assert_eq!(found.joined, BTreeSet::from(["job".into()]));
    let (selector, label) = label_values(r#"label_values(a{b="c", d="e"}, f)"#).unwrap();
    assert_eq!((&*selector.selectors[0].metric, selector.selectors[0].matchers.len(), label), ("a", 2, "f"));
}

#[test]
fn what_is_not_understood_is_refused() {
    for text in
        ["sum(a", "a)", "a{b}", "a{b=c}", r#"{b="c"}"#, r#"a{b="c}"#, "hisogram(a)", "sum a", "sum by (a{}) (b)", "(a]"]
    {
        assert!(read(text).is_err(), "{text}");
    }
    assert!(label_values("query_result(a)").is_err());
}
