//! When credentials end, as far as they say so themselves.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use x509_parser::pem::parse_x509_pem;

/// When something ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    /// What ends.
    pub(crate) what: &'static str,
    /// When.
    pub(crate) at: Timestamp,
}

/// What of the credentials of a kubeconfig's current context ends first. Nothing else of them is kept. `None`: they do not
/// say, as the token of a ServiceAccount's Secret, which lasts until that is deleted.
pub(crate) fn ending(kubeconfig: &str) -> Option<Ending> {
    let document: Value = serde_saphyr::from_str(kubeconfig).ok()?;
    let context = &named(&document["contexts"], &document["current-context"])?["context"];
    let user = &named(&document["users"], &context["user"])?["user"];
    let certificate = user["client-certificate-data"].as_str().and_then(certificate_end);
    let token = user["token"].as_str().and_then(token_end);
    let certificate = certificate.map(|at| Ending { what: "client certificate", at });
    let token = token.map(|at| Ending { what: "token", at });
    certificate.into_iter().chain(token).min_by_key(|ending| ending.at)
}

fn named<'a>(list: &'a Value, name: &Value) -> Option<&'a Value> {
    list.as_array()?.iter().find(|one| one["name"] == *name)
}

fn certificate_end(data: &str) -> Option<Timestamp> {
    let pem = STANDARD.decode(data).ok()?;
    let (_, pem) = parse_x509_pem(&pem).ok()?;
    let certificate = pem.parse_x509().ok()?;
    let end = certificate.validity().not_after.timestamp();
    Timestamp::from_second(end).ok()
}

/// The claim `exp` of a JSON Web Token (RFC 7519). It is believed: nobody gains by a wrong one.
fn token_end(token: &str) -> Option<Timestamp> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    Timestamp::from_second(claims["exp"].as_i64()?).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};
    use serde_json::json;

    use super::*;

    /// One that ends on the first of February 2026.
    fn certificate() -> String {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.not_after = date_time_ymd(2026, 2, 1);
        STANDARD.encode(params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem())
    }

    fn of(user: &Value) -> Option<Ending> {
        let kubeconfig = json!({
            "current-context": "c",
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
            "users": [{ "name": "other", "user": { "token": token(1) } }, { "name": "u", "user": user }],
        });
        ending(&kubeconfig.to_string())
    }

    fn token(exp: i64) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(json!({ "exp": exp }).to_string()))
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap_or_default()
    }

    #[test]
    fn certificates_and_tokens_say_when_they_end() {
        let certificate = certificate();
        let ends = of(&json!({ "client-certificate-data": certificate }));
        assert_eq!(ends, Some(Ending { what: "client certificate", at: at("2026-02-01T00:00:00Z") }));
        let ends = of(&json!({ "token": token(60) }));
        assert_eq!(ends, Some(Ending { what: "token", at: at("1970-01-01T00:01:00Z") }));
        let both = of(&json!({ "client-certificate-data": certificate, "token": token(60) }));
        assert_eq!(both.map(|ending| ending.what), Some("token"), "the first end counts");
    }

    #[test]
    fn what_says_nothing_of_it_has_no_end() {
        for user in [json!({}), json!({ "token": "opaque" }), json!({ "client-certificate-data": "AAAA" })] {
            assert_eq!(of(&user), None, "{user}");
        }
        assert_eq!(ending("no: kubeconfig"), None);
    }
}
