//! URLs.

use super::{
    argument,
    entry::{Entry, Style},
};
use crate::graph::{
    failure::{Answer, Failure},
    go::url::Url,
    value::{Foreign, Key, Text, Value},
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("getEscapedPath", Style::Method, &[0], |args| Ok(Value::text(own(args)?.escaped_path()))),
    ("getHost", Style::Method, &[0], |args| Ok(Value::text(own(args)?.host()))),
    ("getHostname", Style::Method, &[0], |args| Ok(Value::text(own(args)?.host_and_port().0))),
    ("getPort", Style::Method, &[0], |args| Ok(Value::text(own(args)?.host_and_port().1))),
    ("getQuery", Style::Method, &[0], query),
    ("getScheme", Style::Method, &[0], |args| Ok(Value::text(own(args)?.scheme()))),
    ("isURL", Style::Global, &[1], |args| Ok(Value::Bool(Url::parse(argument::text(args, 0)?).is_ok()))),
    ("url", Style::Global, &[1], url),
];

fn url<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let url = Url::parse(argument::text(args, 0)?);
    url.map(|url| Value::foreign(Foreign::Url(url))).map_err(|what| Failure::Wrong(format!("URL parse error: {what}")))
}

fn own<'a>(args: &'a [Value<'_>]) -> Answer<&'a Url> {
    if let Value::Foreign(value) = argument::value(args, 0)?
        && let Foreign::Url(url) = value.as_ref()
    {
        return Ok(url);
    }
    Err(Failure::Misfit)
}

fn query<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let entries = own(args)?.query().into_iter().map(|(name, values)| {
        let values = values.into_iter().map(Value::text).collect();
        (Key::Text(Text::Made(name.into())), Value::list(values))
    });
    Ok(Value::map(entries.collect()))
}
