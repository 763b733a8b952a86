//! Signatures: what was signed verifies, and nothing else does.

use std::collections::BTreeMap;

use broker_api::{ClusterName, Role};
use broker_core::assignment::{
    Assignment, Errand, Key, KeyRing, KeyRingError, Maker, OriginRef, Proven, Seal, claimed,
};
use proptest::prelude::*;

fn key(id: &str, byte: u8) -> Key {
    Key { id: id.to_owned(), secret: vec![byte; 32] }
}

fn ring() -> KeyRing {
    KeyRing::new(vec![key("new", 1), key("old", 2)]).unwrap()
}

fn subject(cluster: &ClusterName) -> OriginRef<'_> {
    OriginRef { cluster, group: "example.org", kind: "Certificate", namespace: "default", name: "web", uid: "u-1" }
}

fn assignment(provider: &str, new_provider: Option<&str>, epoch: u64) -> Assignment {
    Assignment {
        provider: provider.to_owned(),
        new_provider: new_provider.map(str::to_owned),
        epoch,
        pinned: false,
        pinned_before: false,
    }
}

#[test]
fn keys_rotate() {
    let cluster = ClusterName::consumer("homer");
    let old = KeyRing::new(vec![key("old", 2)]).unwrap();
    let text = old.sign_assignment(&subject(&cluster), &assignment("theseus", None, 3));
    assert!(text.starts_with("v1.old.3."), "{text}");
    assert_eq!(
        ring().verify_assignment(&subject(&cluster), "theseus", None, &text),
        Some(Proven { epoch: 3, pinned: false, pinned_before: false })
    );
    let text = ring().sign_assignment(&subject(&cluster), &assignment("theseus", None, 3));
    assert!(text.starts_with("v1.new.3."), "the first key signs: {text}");
    assert_eq!(old.verify_assignment(&subject(&cluster), "theseus", None, &text), None);
}

#[test]
fn a_signature_stays_what_it_was() {
    // Objects of earlier releases carry them.
    let cluster = ClusterName::consumer("homer");
    let (ring, subject) = (ring(), subject(&cluster));
    let errand = Errand { namespace: "default", name: "m", uid: "u-m", from: "ariadne", to: "theseus" };
    let pinned = Assignment { pinned: true, ..assignment("theseus", Some("ariadne"), 3) };
    let signed = [
        ring.sign_assignment(&subject, &assignment("theseus", None, 3)),
        ring.sign_assignment(&subject, &pinned),
        ring.sign_origin(&subject, "theseus", &Seal { epoch: 3, digest: [7; 8] }),
        ring.sign_migration(&subject, &errand, Maker::Broker(3)),
        ring.sign_migration(&subject, &errand, Maker::Person),
    ];
    let expected = [
        "v1.new.3.OEqBxJ32ZIRctG61hDaXcis5wkXuR--dvmUyA-cKK9k",
        "v1.new.3p.f9Nm2Hv35M9jZ8JWiiy_VUueqwC1gnrM_gPvkfpfr-8",
        "v1.new.3.0707070707070707.VdsIscgunJIuF_KTU7R2IC-rTWV6XLpFGP_pCHOVdNQ",
        "v1.new.3.be1De3aVTSdRJZUNjdGg_yBcEBfjIHuWiso0K4Htc0c",
        "v1.new.p.mxUf5nppur5nSB57uPgGISvu37x1E0Jp6kRII46htSw",
    ];
    assert_eq!(signed, expected);
    // People read it without a key.
    assert_eq!(claimed(expected[1]), Some(Proven { epoch: 3, pinned: true, pinned_before: false }));
    assert_eq!(claimed(expected[2]), None);
}

#[test]
fn another_secret_of_the_same_id_does_not_verify() {
    let cluster = ClusterName::consumer("homer");
    let text = ring().sign_assignment(&subject(&cluster), &assignment("theseus", None, 3));
    let other = KeyRing::new(vec![key("new", 9)]).unwrap();
    assert_eq!(other.verify_assignment(&subject(&cluster), "theseus", None, &text), None);
}

#[test]
fn the_mark_of_a_migration_is_for_it_and_its_origin_only() {
    let (cluster, other) = (ClusterName::consumer("homer"), ClusterName::consumer("bart"));
    let (ring, subject) = (ring(), subject(&cluster));
    let errand = Errand { namespace: "default", name: "m", uid: "u-m", from: "ariadne", to: "theseus" };
    for maker in [Maker::Broker(3), Maker::Person] {
        let text = ring.sign_migration(&subject, &errand, maker);
        assert_eq!(ring.verify_migration(&subject, &errand, &text), Some(maker));
        assert_eq!(text, ring.sign_migration(&subject, &errand, maker), "the same each time");
        let about_another = OriginRef { cluster: &other, ..subject };
        assert_eq!(ring.verify_migration(&about_another, &errand, &text), None);
        for wrong in [
            Errand { namespace: "team-a", ..errand },
            Errand { name: "n", ..errand },
            Errand { from: "theseus", to: "ariadne", ..errand },
        ] {
            assert_eq!(ring.verify_migration(&subject, &wrong, &text), None, "{wrong:?}");
        }
        // Another one of its name: the broker knows its own by their epochs.
        let again = ring.verify_migration(&subject, &Errand { uid: "u-n", ..errand }, &text);
        assert_eq!(again, (maker != Maker::Person).then_some(maker));
    }
    let text = ring.sign_migration(&subject, &errand, Maker::Broker(3));
    assert_eq!(ring.verify_migration(&subject, &errand, &text.replace(".3.", ".4.")), None);
    assert_eq!(ring.verify_migration(&subject, &errand, &text.replace(".3.", ".p.")), None);
    assert_eq!(ring.verify_assignment(&subject, "ariadne", None, &text), None);
}

#[test]
fn what_was_recorded_is_signed_for_one_migration() {
    let ring = ring();
    let text = ring.sign_record("u-m", "content");
    assert!(ring.verify_record("u-m", "content", &text));
    for (uid, content, text) in [
        ("u-n", "content", &*text),
        ("u-m", "other", &*text),
        ("u-m", "content", "v1.new.AAAA"),
        ("u-m", "content", ""),
    ] {
        assert!(!ring.verify_record(uid, content, text), "{uid} {content} {text}");
    }
}

#[test]
fn an_assignment_is_no_origin() {
    let cluster = ClusterName::consumer("homer");
    let (ring, subject) = (ring(), subject(&cluster));
    let origin = Seal { epoch: 3, digest: [7; 8] };
    let text = ring.sign_origin(&subject, "theseus", &origin);
    assert_eq!(ring.verify_origin(&subject, "theseus", &text), Some(origin));
    assert_eq!(ring.verify_assignment(&subject, "theseus", None, &text), None);
    let text = ring.sign_assignment(&subject, &assignment("theseus", None, 3));
    assert_eq!(ring.verify_origin(&subject, "theseus", &text), None);
}

#[test]
fn no_new_provider_and_an_empty_one_differ() {
    let cluster = ClusterName::consumer("homer");
    let text = ring().sign_assignment(&subject(&cluster), &assignment("theseus", None, 3));
    assert_eq!(ring().verify_assignment(&subject(&cluster), "theseus", Some(""), &text), None);
}

#[test]
fn only_our_own_form_of_a_text_verifies() {
    let cluster = ClusterName::consumer("homer");
    let (ring, subject) = (ring(), subject(&cluster));
    let text = ring.sign_origin(&subject, "theseus", &Seal { epoch: 3, digest: [0xab; 8] });
    for forged in [
        text.replace("v1.", "v2."),
        text.replace(".new.", ".old."),
        text.replace(".new.", ".none."),
        text.replace(".3.", ".03."),
        text.replace(".3.", ".+3."),
        text.replace(".3.", ".4."),
        text.replace(".3.", ".99999999999999999999999."),
        text.replace("abab", "abac"),
        format!("{text}."),
        format!("{text}="),
        text[..text.len() - 1].to_owned(),
        String::new(),
        "....".to_owned(),
    ] {
        assert_eq!(ring.verify_origin(&subject, "theseus", &forged), None, "{forged}");
    }
}

#[test]
fn a_ring_comes_from_a_secret() {
    let data = |entries: &[(&str, &str)]| -> BTreeMap<String, Vec<u8>> {
        entries.iter().map(|(id, secret)| ((*id).to_owned(), secret.as_bytes().to_vec())).collect()
    };
    let (one, two) = ("1".repeat(32), "2".repeat(40));
    let signs =
        |entries: &[(&str, &str)]| KeyRing::from_secret_data(&data(entries)).map(|ring| ring.signs_with().to_owned());
    assert_eq!(signs(&[("k1", &one)]), Ok("k1".into()));
    assert_eq!(signs(&[("2026-key_B", &one)]), Ok("2026-key_B".into()));
    assert_eq!(signs(&[("k1", &one), ("k2", &two), ("primary", "k2\n")]), Ok("k2".into()));
    assert_eq!(signs(&[("k1", &one), ("k2", &two), ("primary", "k1")]), Ok("k1".into()));
    assert_eq!(signs(&[]), Err(KeyRingError::Empty));
    assert_eq!(signs(&[("k1", &one), ("k2", &two)]), Err(KeyRingError::NoPrimary));
    assert_eq!(signs(&[("k1", &one), ("primary", "k9")]), Err(KeyRingError::UnknownPrimary("k9".into())));
    assert_eq!(signs(&[("k1", "short")]), Err(KeyRingError::Short { id: "k1".into(), length: 5 }));
    assert_eq!(signs(&[("tls.key", &one)]), Err(KeyRingError::Id("tls.key".into())));
    let twice = KeyRing::new(vec![key("a", 1), key("a", 2)]).map(|_| ());
    assert_eq!(twice, Err(KeyRingError::Twice("a".into())));
}

#[test]
fn nothing_prints_a_secret() {
    let secret = "correct horse battery staple and more";
    let key = Key { id: "k1".into(), secret: secret.into() };
    let shown = format!("{key:?} {:?}", KeyRing::new(vec![key.clone()]).unwrap());
    assert_eq!(shown.matches("k1").count(), 2, "{shown}");
    assert!(!shown.contains("correct") && !shown.contains("99, 111"), "{shown}");
}

/// Everything that is signed.
#[derive(Debug, Clone, PartialEq)]
struct Signed {
    role: Role,
    fields: [String; 7],
    new_provider: Option<String>,
    epoch: u64,
    digest: [u8; 8],
}

impl Signed {
    fn cluster(&self) -> ClusterName {
        ClusterName::new(self.role, self.fields[0].as_str())
    }

    fn subject<'a>(&'a self, cluster: &'a ClusterName) -> OriginRef<'a> {
        let [_, group, kind, namespace, name, uid, _] = &self.fields;
        OriginRef { cluster, group, kind, namespace, name, uid }
    }

    fn assignment(&self) -> Assignment {
        assignment(&self.fields[6], self.new_provider.as_deref(), self.epoch)
    }

    fn origin(&self) -> Seal {
        Seal { epoch: self.epoch, digest: self.digest }
    }
}

fn signed() -> impl Strategy<Value = Signed> {
    // Few letters, and the empty text: so that fields run into each other, if they can.
    let role = prop_oneof![Just(Role::Consumer), Just(Role::Provider)];
    let fields = prop::array::uniform7("[ab#/.]{0,3}");
    (role, fields, prop::option::of("[ab]{0,2}"), 0_u64..3, prop::array::uniform8(0_u8..2))
        .prop_map(|(role, fields, new_provider, epoch, digest)| Signed { role, fields, new_provider, epoch, digest })
}

proptest! {
    #[test]
    fn what_was_signed_verifies_and_every_field_matters(signed in signed(), field in 0_usize..7, letter in "[ab]", other in signed()) {
        let ring = ring();
        let cluster = signed.cluster();
        let text = ring.sign_assignment(&signed.subject(&cluster), &signed.assignment());
        let origin = ring.sign_origin(&signed.subject(&cluster), &signed.fields[6], &signed.origin());
        let check = |claim: &Signed| {
            let cluster = claim.cluster();
            let subject = claim.subject(&cluster);
            (
                ring.verify_assignment(&subject, &claim.fields[6], claim.new_provider.as_deref(), &text),
                ring.verify_origin(&subject, &claim.fields[6], &origin),
            )
        };
        let proven = Proven { epoch: signed.epoch, pinned: false, pinned_before: false };
        prop_assert_eq!(check(&signed), (Some(proven), Some(signed.origin())));

        let mut claim = signed.clone();
        claim.fields[field].push_str(&letter);
        prop_assert_eq!(check(&claim), (None, None));

        // A letter that moves from one field to the next.
        let mut claim = signed.clone();
        if let Some(moved) = claim.fields[field].pop() {
            claim.fields[(field + 1) % 7].insert(0, moved);
            prop_assert_eq!(check(&claim), (None, None));
        }

        let mut claim = signed.clone();
        claim.role = Role::Coordination;
        prop_assert_eq!(check(&claim), (None, None));

        let mut claim = signed.clone();
        claim.new_provider = Some(format!("{}x", claim.new_provider.unwrap_or_default()));
        prop_assert_eq!(check(&claim).0, None);

        // Epoch and digest are in the text; all else must be the same.
        let same = Signed { epoch: signed.epoch, digest: signed.digest, ..other.clone() } == signed;
        prop_assert_eq!(check(&other).0.is_some(), same);
    }

    #[test]
    fn any_text_is_refused_without_panic(text in "\\PC{0,80}", shaped in "v1\\.(new|old)\\.[0-9]{0,3}\\.[0-9a-f]{0,17}(\\.[A-Za-z0-9_-]{40,44})?") {
        let cluster = ClusterName::consumer("homer");
        for text in [text, shaped] {
            prop_assert_eq!(ring().verify_assignment(&subject(&cluster), "theseus", None, &text), None);
            prop_assert_eq!(ring().verify_origin(&subject(&cluster), "theseus", &text), None);
        }
    }
}

#[test]
fn a_move_carries_both_pins_and_neither_can_be_added() {
    let cluster = ClusterName::consumer("homer");
    for (pinned, pinned_before) in [(false, false), (true, false), (false, true), (true, true)] {
        let signed = Assignment { pinned, pinned_before, ..assignment("a", Some("b"), 7) };
        let text = ring().sign_assignment(&subject(&cluster), &signed);
        let proven = ring().verify_assignment(&subject(&cluster), "a", Some("b"), &text);
        assert_eq!(proven, Some(Proven { epoch: 7, pinned, pinned_before }));
        let parts: Vec<&str> = text.split('.').collect();
        for field in ["7", "7p", "7b", "7pb", "7bp"].iter().filter(|field| **field != parts[2]) {
            let forged = text.replace(&format!(".{}.", parts[2]), &format!(".{field}."));
            assert_eq!(ring().verify_assignment(&subject(&cluster), "a", Some("b"), &forged), None, "{field}");
        }
    }
}
