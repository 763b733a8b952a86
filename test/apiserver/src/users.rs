//! `Users`: who asks, by their tokens.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Context as _;
use http::{HeaderMap, header};

/// Whoever has shown a token is in it.
const AUTHENTICATED: &str = "system:authenticated";

/// Somebody.
#[derive(Debug)]
pub(crate) struct User {
    /// As the audit log names them.
    pub(crate) name: String,
    /// Whose rights they have, too.
    pub(crate) groups: Vec<String>,
}

/// Users by their tokens.
#[derive(Debug)]
pub(crate) struct Users(BTreeMap<String, Arc<User>>);

impl Users {
    /// Those of a file of tokens.
    pub(crate) fn read(file: &str) -> anyhow::Result<Self> {
        let user = |line: &str| {
            let mut fields = line.splitn(4, ',');
            let (token, name) = (fields.next()?, fields.next()?);
            let groups = fields.nth(1).unwrap_or_default().trim_matches('"').split(',');
            let groups = groups.filter(|group| !group.is_empty()).chain([AUTHENTICATED]).map(str::to_owned).collect();
            Some((token.to_owned(), Arc::new(User { name: name.to_owned(), groups })))
        };
        let users = file.lines().map(|line| user(line).with_context(|| format!("no user: {line}")));
        users.collect::<anyhow::Result<_>>().map(Self)
    }

    /// Who has sent a request: whoever shows no token is nobody in particular. `None`: the token is nobody's.
    pub(crate) fn of(&self, headers: &HeaderMap) -> Option<Arc<User>> {
        let Some(shown) = headers.get(header::AUTHORIZATION) else {
            let groups = vec!["system:unauthenticated".to_owned()];
            return Some(Arc::new(User { name: "system:anonymous".to_owned(), groups }));
        };
        self.0.get(shown.to_str().ok()?.strip_prefix("Bearer ")?).cloned()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn users_are_known_by_their_tokens() {
        let users = Users::read("t-1,admin,admin,\"devs,system:masters\"\nt-2,limited,limited,\"\"\n").unwrap();
        let of = |token: &'static str| {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(token))]);
            users.of(&headers).map(|user| (user.name.clone(), user.groups.len()))
        };
        assert_eq!(of("Bearer t-1"), Some(("admin".to_owned(), 3)));
        assert_eq!(of("Bearer t-2"), Some(("limited".to_owned(), 1)));
        assert_eq!(of("Bearer t-3"), None);
        assert_eq!(of("t-1"), None);
        assert_eq!(users.of(&HeaderMap::new()).unwrap().name, "system:anonymous");
    }
}
