//! What to do about one Certificate: pure, from what was observed. Knows no client and no clock.

use broker_api::{brokered_status::Availability, example::Certificate};
use k8s_openapi::{api::core::v1::Secret, jiff::Timestamp};
use kube::ResourceExt;

use crate::{
    authority::{Authority, Leaf},
    fqdn, proof, secret,
    status::Report,
};

/// What to do, in the order in which the fields of a case are.
#[derive(PartialEq, Eq)]
pub enum Decision {
    /// Nothing but to say why there is no certificate.
    Fail(Report),
    /// Issue a certificate and store it. `announce` is said before, if the consumer has to wait for it.
    Issue {
        /// The name for the certificate, in its normal form.
        fqdn: String,
        /// What is said while the certificate is made.
        announce: Option<Report>,
    },
    /// The certificate is good, its Secret was changed by somebody: put the Secret right, with the same certificate.
    Restore(Leaf),
    /// All is well until the time of renewal.
    Keep {
        /// What is said.
        report: Report,
        /// When a new certificate is due.
        renewal: Timestamp,
    },
}

/// Decides from the Certificate and the Secret of its name, if there is one.
pub fn decide(certificate: &Certificate, held: Option<&Secret>, authority: &Authority, now: Timestamp) -> Decision {
    let name = secret::name(&certificate.name_any());
    let ours = held.filter(|held| secret::is_ours(held, certificate));
    let fail = |reason, message| {
        // A certificate that was good keeps serving its consumer while an edit waits to be corrected.
        let secret = ours.is_some();
        Decision::Fail(Report { availability: Availability::Failed, reason, message, secret })
    };
    let wanted = certificate.spec.fqdn.as_str();
    let fqdn = match fqdn::normal(wanted) {
        Ok(fqdn) => fqdn,
        Err(error) => {
            return fail("InvalidFqdn", format!("no certificate for {wanted:?}: {error}"));
        }
    };
    if name.len() > 253 {
        return fail("NameTooLong", format!("Secret {name:?} would have a name of more than 253 characters"));
    }
    if held.is_some() && ours.is_none() {
        return fail("SecretTaken", format!("Secret {name:?} exists and is not owned by this Certificate"));
    }

    let usable = ours.and_then(secret::leaf).and_then(|leaf| {
        let (crt, key) = (leaf.certificate.as_bytes(), leaf.key.as_bytes());
        // Against this provider's own authority: after a change of authority, certificates are issued anew.
        let proof = proof::prove(crt, key, authority.certificate().as_bytes(), now).ok()?;
        (proof.names == [fqdn.as_str()])
            .then(|| (Leaf { authority: authority.certificate().to_owned(), ..leaf }, proof))
    });
    let Some((leaf, proof)) = usable else {
        let message = format!("{} issues a certificate for {fqdn}", authority.name());
        let secret = ours.is_some();
        let announce = Report { availability: Availability::Provisioning, reason: "Issuing", message, secret };
        return Decision::Issue { fqdn, announce: Some(announce) };
    };
    let renewal = authority.renewal(proof.not_after);
    if renewal <= now {
        // The consumer has one that is valid meanwhile: nothing to announce.
        return Decision::Issue { fqdn, announce: None };
    }
    if ours.zip(secret::build(certificate, &leaf)).is_none_or(|(held, wanted)| !secret::holds(held, &wanted)) {
        return Decision::Restore(leaf);
    }
    let message = format!("certificate for {fqdn}, issued by {}, valid until {}", authority.name(), proof.not_after);
    let report = Report { availability: Availability::Available, reason: "Issued", message, secret: true };
    Decision::Keep { report, renewal }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::time::Duration;

    use k8s_openapi::ByteString;
    use serde_json::json;

    use super::*;
    use crate::status;

    const DAY: Duration = Duration::from_hours(24);
    const START: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn certificate(fqdn: &str) -> Certificate {
        serde_json::from_value(json!({
            "apiVersion": "example.platform-mesh.io/v1alpha1",
            "kind": "Certificate",
            "metadata": { "name": "website", "namespace": "default", "uid": "u1", "generation": 3 },
            "spec": { "fqdn": fqdn },
        }))
        .unwrap()
    }

    fn authority() -> Authority {
        Authority::generate("internal.corp CA", 90 * DAY, START).unwrap().0
    }

    fn issued(authority: &Authority, certificate: &Certificate) -> Secret {
        secret::build(certificate, &authority.issue(&certificate.spec.fqdn, START).unwrap()).unwrap()
    }

    fn failed(decision: Decision) -> Report {
        match decision {
            Decision::Fail(report) => report,
            _ => panic!("expected a failure"),
        }
    }

    fn kept(decision: Decision) -> (Report, Timestamp) {
        match decision {
            Decision::Keep { report, renewal } => (report, renewal),
            _ => panic!("expected the certificate to be kept"),
        }
    }

    #[test]
    fn a_new_certificate_is_announced_and_issued() {
        let Decision::Issue { announce: Some(report), .. } = decide(&certificate("a.corp"), None, &authority(), START)
        else {
            panic!("expected to issue and to announce")
        };
        assert_eq!((report.availability, report.secret), (Availability::Provisioning, false));
    }

    #[test]
    fn a_good_one_is_kept_until_a_third_of_its_life_is_left() {
        let (authority, certificate) = (authority(), certificate("a.corp"));
        let held = issued(&authority, &certificate);
        let at = |now| decide(&certificate, Some(&held), &authority, now);
        let (report, renewal) = kept(at(START));
        assert_eq!((report.availability, report.secret), (Availability::Available, true));
        assert_eq!(renewal, START + 60 * DAY);
        kept(at(START + 60 * DAY - Duration::from_secs(1)));
        assert!(matches!(at(START + 60 * DAY), Decision::Issue { announce: None, .. }), "valid meanwhile");
        assert!(matches!(at(START + 91 * DAY), Decision::Issue { announce: Some(_), .. }), "no longer valid");
    }

    #[test]
    fn another_name_another_authority_or_a_broken_key_is_issued_anew() {
        let (authority, certificate) = (authority(), certificate("a.corp"));
        let held = issued(&authority, &certificate);
        let issues = |decision| matches!(decision, Decision::Issue { announce: Some(Report { secret: true, .. }), .. });
        assert!(issues(decide(&super::tests::certificate("b.corp"), Some(&held), &authority, START)));
        assert!(issues(decide(&certificate, Some(&held), &super::tests::authority(), START)));
        let mut broken = held.clone();
        broken.data.as_mut().unwrap().remove(secret::KEY);
        assert!(issues(decide(&certificate, Some(&broken), &authority, START)));
        broken.data = issued(&authority, &certificate).data.map(|mut data| {
            let key = held.data.as_ref().unwrap()[secret::KEY].clone();
            data.insert(secret::KEY.to_owned(), key);
            data
        });
        assert!(issues(decide(&certificate, Some(&broken), &authority, START)));
    }

    #[test]
    fn what_others_strip_is_restored_with_the_same_certificate_and_what_they_add_stays() {
        let (authority, certificate) = (authority(), certificate("a.corp"));
        let held = issued(&authority, &certificate);
        let mut stripped = held.clone();
        stripped.metadata.labels = None;
        stripped.data.as_mut().unwrap().insert(secret::CA_CERTIFICATE.to_owned(), ByteString::default());
        let Decision::Restore(leaf) = decide(&certificate, Some(&stripped), &authority, START) else {
            panic!("expected to restore")
        };
        assert!(secret::build(&certificate, &leaf).unwrap() == held);
        let mut added = held;
        added.metadata.annotations = Some([("team".to_owned(), "web".to_owned())].into());
        added.metadata.labels.as_mut().unwrap().insert("team".to_owned(), "web".to_owned());
        kept(decide(&certificate, Some(&added), &authority, START));
    }

    #[test]
    fn a_name_that_is_none_fails_and_keeps_the_old_certificate() {
        let authority = authority();
        let report = failed(decide(&certificate("no name"), None, &authority, START));
        assert_eq!((report.availability, report.reason, report.secret), (Availability::Failed, "InvalidFqdn", false));
        let held = issued(&authority, &certificate("a.corp"));
        assert!(failed(decide(&certificate("no name"), Some(&held), &authority, START)).secret);
    }

    #[test]
    fn the_secret_of_another_is_not_touched() {
        let (authority, certificate) = (authority(), certificate("a.corp"));
        let mut held = issued(&authority, &certificate);
        held.metadata.owner_references = None;
        let report = failed(decide(&certificate, Some(&held), &authority, START));
        assert_eq!((report.reason, report.secret), ("SecretTaken", false));
    }

    #[test]
    fn a_recreated_certificate_takes_over_the_secret_of_its_predecessor() {
        let (authority, mut certificate) = (authority(), certificate("a.corp"));
        let held = issued(&authority, &certificate);
        certificate.metadata.uid = Some("u2".to_owned());
        let Decision::Restore(leaf) = decide(&certificate, Some(&held), &authority, START) else {
            panic!("expected the owner to be put right")
        };
        let taken = secret::build(&certificate, &leaf).unwrap();
        assert!(taken.data == held.data);
        assert_eq!(taken.owner_references()[0].uid, "u2");
    }

    #[test]
    fn a_name_too_long_for_its_secret_fails() {
        let mut certificate = certificate("a.corp");
        certificate.metadata.name = Some("a".repeat(250));
        assert_eq!(failed(decide(&certificate, None, &authority(), START)).reason, "NameTooLong");
    }

    #[test]
    fn a_status_that_says_it_already_is_not_written_again() {
        let (authority, mut certificate) = (authority(), certificate("a.corp"));
        let held = issued(&authority, &certificate);
        let (report, _) = kept(decide(&certificate, Some(&held), &authority, START));
        let first = status::build(&certificate, &report, START).expect("there is none yet");
        assert_eq!(first.conditions[0].observed_generation, Some(3));
        assert_eq!(first.related_resources[status::RELATED].name, "website-tls");
        certificate.status = Some(first);
        assert_eq!(status::build(&certificate, &report, START + DAY), None);
        certificate.metadata.generation = Some(4);
        let second = status::build(&certificate, &report, START + DAY).expect("the generation is new");
        assert_eq!(second.conditions[0].last_transition_time.0, START, "it was Ready all the time");
    }
}
