//! Functions over texts that CEL does not have by itself, as Kubernetes has them.
//!
//! Indices count characters, not bytes. See
//! <https://kubernetes.io/docs/reference/using-api/cel/#cel-options-language-features-and-libraries> ("extended strings").
#![expect(clippy::needless_pass_by_value, reason = "the signature that the interpreter calls")]

use cel_interpreter::{
    DeclarationError, Env, ExecutionError,
    common::{
        types::{CelList, CelString, INT_TYPE, LIST_TYPE, STRING_TYPE},
        value::{CowVal, Val},
    },
};

use super::{
    argument::{self, Answer},
    meter,
};

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    let mut member = |name, id, args, op| env.add_member_overload(name, id, STRING_TYPE, args, op);
    member("lowerAscii", "string_lower_ascii", vec![], lower_ascii)?;
    member("upperAscii", "string_upper_ascii", vec![], upper_ascii)?;
    member("trim", "string_trim", vec![], trim)?;
    member("charAt", "string_char_at_int", vec![INT_TYPE], char_at)?;
    member("substring", "string_substring_int", vec![INT_TYPE], substring)?;
    member("substring", "string_substring_int_int", vec![INT_TYPE, INT_TYPE], substring)?;
    member("indexOf", "string_index_of_string", vec![STRING_TYPE], index_of)?;
    member("indexOf", "string_index_of_string_int", vec![STRING_TYPE, INT_TYPE], index_of)?;
    member("lastIndexOf", "string_last_index_of_string", vec![STRING_TYPE], last_index_of)?;
    member("replace", "string_replace_string_string", vec![STRING_TYPE, STRING_TYPE], replace)?;
    member("replace", "string_replace_string_string_int", vec![STRING_TYPE, STRING_TYPE, INT_TYPE], replace)?;
    member("split", "string_split_string", vec![STRING_TYPE], split)?;
    member("split", "string_split_string_int", vec![STRING_TYPE, INT_TYPE], split)?;
    env.add_member_overload("join", "list_join", LIST_TYPE, vec![], join)?;
    env.add_member_overload("join", "list_join_string", LIST_TYPE, vec![STRING_TYPE], join)
}

fn of<'b, 'v>(text: String) -> CowVal<'b, 'v> {
    CowVal::owned(CelString::from(text))
}

fn out_of_range(function: &str, index: i64, length: usize) -> ExecutionError {
    ExecutionError::function_error(function, format!("index {index} is not within a text of {length} characters"))
}

/// The byte where this character begins; the end of the text for the one behind the last.
fn byte(function: &str, text: &str, index: i64) -> Result<usize, ExecutionError> {
    let starts = || text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let found = usize::try_from(index).ok().and_then(|index| starts().nth(index));
    found.ok_or_else(|| out_of_range(function, index, text.chars().count()))
}

fn lower_ascii<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    Ok(of(argument::text(&args, 0)?.to_ascii_lowercase()))
}

fn upper_ascii<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    Ok(of(argument::text(&args, 0)?.to_ascii_uppercase()))
}

fn trim<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    Ok(of(argument::text(&args, 0)?.trim().to_owned()))
}

fn char_at<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let text = argument::text(&args, 0)?;
    let start = byte("charAt", text, argument::number(&args, 1)?)?;
    Ok(of(text[start..].chars().take(1).collect()))
}

fn substring<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let text = argument::text(&args, 0)?;
    let start = byte("substring", text, argument::number(&args, 1)?)?;
    let end = if args.len() > 2 { byte("substring", text, argument::number(&args, 2)?)? } else { text.len() };
    let part = text.get(start..end).ok_or_else(|| ExecutionError::function_error("substring", "ends before it begins"));
    Ok(of(part?.to_owned()))
}

fn index_of<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let (text, sought) = (argument::text(&args, 0)?, argument::text(&args, 1)?);
    let start = if args.len() > 2 { byte("indexOf", text, argument::number(&args, 2)?)? } else { 0 };
    let found = text[start..].find(sought);
    Ok(argument::position(found.map(|at| text[..start + at].chars().count())))
}

fn last_index_of<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let (text, sought) = (argument::text(&args, 0)?, argument::text(&args, 1)?);
    Ok(argument::position(text.rfind(sought).map(|at| text[..at].chars().count())))
}

/// `replace(from, to)`, `replace(from, to, most)`. How long it gets is known, and bounded, before it is made.
fn replace<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let (text, from, to) = (argument::text(&args, 0)?, argument::text(&args, 1)?, argument::text(&args, 2)?);
    let most = if args.len() > 3 { argument::count(&args, 3)? } else { None }.unwrap_or(usize::MAX);
    let times = text.matches(from).take(most).count();
    let length = (text.len() - times * from.len()).saturating_add(times.saturating_mul(to.len()));
    if length > meter::values().text.max(text.len()) {
        return Err(meter::too_long(length));
    }
    meter::charge(meter::steps_of(length))?;
    Ok(of(text.replacen(from, to, most)))
}

/// `split(separator)`, `split(separator, most)`. An empty separator splits between characters.
fn split<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let (mut rest, separator) = (argument::text(&args, 0)?, argument::text(&args, 1)?);
    let most = if args.len() > 2 { argument::count(&args, 2)? } else { None }.unwrap_or(usize::MAX);
    let mut parts: Vec<Box<dyn Val + 'v>> = Vec::new();
    if most == 0 || rest.is_empty() && separator.is_empty() {
        return Ok(CowVal::owned(CelList::from(parts)));
    }
    loop {
        meter::charge(1)?;
        let cut = if parts.len() + 1 < most { cut(rest, separator) } else { None };
        let (end, next) = cut.unwrap_or((rest.len(), rest.len()));
        parts.push(Box::new(CelString::from(rest[..end].to_owned())));
        rest = &rest[next..];
        if cut.is_none() {
            return Ok(CowVal::owned(CelList::from(parts)));
        }
    }
}

/// Where the first part ends, and where the next one begins.
fn cut(text: &str, separator: &str) -> Option<(usize, usize)> {
    if separator.is_empty() {
        let first = text.chars().next()?.len_utf8();
        return (first < text.len()).then_some((first, first));
    }
    text.find(separator).map(|at| (at, at + separator.len()))
}

fn join<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Answer<'b, 'v> {
    let elements = argument::list(&args, 0)?;
    let separator = if args.len() > 1 { argument::text(&args, 1)? } else { "" };
    let mut parts: Vec<&str> = Vec::with_capacity(elements.len());
    let mut length = 0_usize;
    for element in elements {
        let text = element.downcast_ref::<CelString>().map(CelString::inner);
        let text = text.ok_or_else(|| {
            ExecutionError::function_error("join", format!("an element is a {}", element.get_type().name()))
        })?;
        length = length.saturating_add(text.len() + if parts.is_empty() { 0 } else { separator.len() });
        parts.push(text);
    }
    if length > meter::values().text {
        return Err(meter::too_long(length));
    }
    meter::charge(meter::steps_of(length))?;
    Ok(of(parts.join(separator)))
}
