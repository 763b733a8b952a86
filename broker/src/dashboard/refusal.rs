//! `Refusal`: why somebody does not see the page.

use axum::{
    http::{StatusCode, header},
    response::Response,
};

use super::reply;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The request was made for another site, or by one.
    Foreign(&'static str),
    /// There is no token, or nobody's.
    Unknown(&'static str),
    /// It is this user's, who may not see the page.
    Forbidden(Box<str>),
    /// It cannot be told now, and why.
    Unavailable(&'static str),
}

impl Refusal {
    /// The answer.
    pub(super) fn reply(&self) -> Response {
        match self {
            Self::Foreign(why) => reply::line(StatusCode::FORBIDDEN, why),
            Self::Unknown(why) => {
                let reply = reply::line(StatusCode::UNAUTHORIZED, why);
                reply::with(reply, header::WWW_AUTHENTICATE, "Bearer realm=\"resource-broker\"")
            }
            Self::Forbidden(user) => {
                let why = format!(
                    "{user} may not see this page: that takes verb get on the non-resource URL /dashboard in the coordination cluster"
                );
                reply::line(StatusCode::FORBIDDEN, why)
            }
            Self::Unavailable(why) => reply::line(StatusCode::SERVICE_UNAVAILABLE, why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_refused_is_told_what_is_missing() {
        let unknown = Refusal::Unknown("send a token").reply();
        assert_eq!(unknown.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(unknown.headers()[header::WWW_AUTHENTICATE], "Bearer realm=\"resource-broker\"");
        let statuses = [Refusal::Foreign("x"), Refusal::Forbidden("jane".into()), Refusal::Unavailable("x")]
            .map(|refusal| refusal.reply().status().as_u16());
        assert_eq!(statuses, [403, 403, 503]);
    }
}
