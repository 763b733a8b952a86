//! Names of copies.

use std::{collections::HashMap, sync::Arc};

use broker_api::ClusterName;
use broker_core::{
    copy,
    naming::{
        NameLimit, consumer_hash, copy_name, foreign_prefix, is_namespace, leading_hash, may_be_cut, strip_prefix,
    },
    snapshot::OriginKey,
};
use proptest::prelude::*;
use runtime_effect::kind::Kind;

/// RFC 1123, as the API server checks it.
fn is_subdomain(name: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= 253
        && name.split('.').all(|part| {
            part.bytes().all(|byte| inside(byte) || byte == b'-')
                && part.bytes().next().is_some_and(inside)
                && part.bytes().last().is_some_and(inside)
        })
}

#[test]
fn the_hash_is_the_contracts() {
    assert_eq!(consumer_hash(&ClusterName::consumer("consumer#cluster")), "a8b70b353e97");
}

#[test]
fn what_becomes_a_dns_label_is_no_longer_than_one() {
    let longest = |group: &str, kind: &str| {
        let kind = Kind { group: group.into(), version: "v1".into(), kind: kind.into() };
        let cluster = ClusterName::consumer("homer");
        let key = OriginKey { cluster, gvk: Arc::new(kind), namespace: "n".into(), name: "a".repeat(250).into() };
        copy::name(&key).len()
    };
    assert_eq!((longest("", "Service"), longest("", "Namespace")), (63, 63));
    assert_eq!((longest("", "Secret"), longest("serving.knative.dev", "Service")), (253, 253));
}

#[test]
fn short_names_are_kept_and_long_ones_cut() {
    let homer = ClusterName::consumer("homer");
    let hash = consumer_hash(&homer);
    assert_eq!(copy_name(&homer, "web", NameLimit::Subdomain), format!("{hash}-web"));
    let longest = "a".repeat(240);
    assert_eq!(copy_name(&homer, &longest, NameLimit::Subdomain), format!("{hash}-{longest}"));
    let cut = copy_name(&homer, &"a".repeat(241), NameLimit::Subdomain);
    assert_eq!(cut.len(), 253);
    assert!(cut.starts_with(&format!("{hash}-aaaa")));
    assert_eq!(copy_name(&homer, &"a".repeat(50), NameLimit::Label).len(), 63);
    assert!(may_be_cut(&cut) && !may_be_cut(&format!("{hash}-web")));
    // Neither what is hexadecimal nor what is as long makes it so.
    assert!(!may_be_cut("web-abc") && !may_be_cut("web-internal") && may_be_cut("web-00c0ffee"));
}

#[test]
fn a_namespace_is_called_as_kubernetes_lets_it_be_called() {
    let longest = "a".repeat(63);
    for name in ["a", "0", "team-a", "a--b", "9-lives", &longest] {
        assert_eq!(is_namespace(name), Ok(()), "{name}");
    }
    for name in ["", "-", "-a", "a-", "A", "a.b", "a_b", "a b", "a/b", "ä", &format!("{longest}a")] {
        assert!(is_namespace(name).unwrap_err().starts_with(&format!("{name:?} is no name of a namespace")), "{name}");
    }
}

#[test]
fn a_cut_never_leaves_a_dangling_sign() {
    let homer = ClusterName::consumer("homer");
    for length in 225..241 {
        let name = format!("{}.-.--{}", "a".repeat(length).replace("aaa", "aa."), "b".repeat(30));
        let copy = copy_name(&homer, &name, NameLimit::Subdomain);
        assert!(!copy.contains(".-") || name.contains(".-"), "{copy}");
        let (kept, _) = copy.rsplit_once('-').unwrap();
        assert!(kept.ends_with(|char: char| char.is_ascii_alphanumeric()), "{copy}");
        assert!(may_be_cut(&copy), "{copy}");
    }
}

#[test]
fn prefixes_are_told_apart() {
    let (homer, virgil) = (ClusterName::consumer("homer"), ClusterName::consumer("virgil"));
    let copy = copy_name(&homer, "web-tls", NameLimit::Subdomain);
    assert_eq!(strip_prefix(&homer, &copy), "web-tls");
    assert_eq!(strip_prefix(&virgil, &copy), copy);
    assert!(!foreign_prefix(&homer, &copy) && foreign_prefix(&virgil, &copy));
    for plain in ["web", "web-tls", "abcdefabcdef", "ABCDEFABCDEF-x", "abcdefabcdeg-x", "abcdefabcdef0-x", ""] {
        assert!(!foreign_prefix(&homer, plain), "{plain}");
        assert_eq!(strip_prefix(&homer, plain), plain);
    }
    let bare = format!("{}-", consumer_hash(&homer));
    assert_eq!(strip_prefix(&homer, &bare), bare, "nothing would remain");
}

#[test]
fn only_a_hash_leads() {
    assert_eq!(leading_hash("a8b70b353e97-cert"), Some(("a8b70b353e97", "cert")));
    assert_eq!(leading_hash("a8b70b353e97-"), None);
    assert_eq!(leading_hash("certificate1-x"), None);
    assert_eq!(leading_hash("a8b70b353e9-x"), None);
}

proptest! {
    #[test]
    fn valid_names_stay_valid(name in "[a-z0-9]{1,60}([-.][a-z0-9]{1,60}){0,3}", cluster in "[a-z]{1,10}") {
        let copy = copy_name(&ClusterName::consumer(cluster), &name, NameLimit::Subdomain);
        prop_assert!(is_subdomain(&copy), "{}", copy);
    }

    #[test]
    fn labels_stay_labels(name in "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?") {
        let copy = copy_name(&ClusterName::consumer("homer"), &name, NameLimit::Label);
        prop_assert!(copy.len() <= 63 && is_subdomain(&copy) && !copy.contains('.'), "{}", copy);
    }

    #[test]
    fn any_text_is_cut_at_a_character(name in "\\PC{0,120}") {
        prop_assert!(copy_name(&ClusterName::consumer("homer"), &name, NameLimit::Label).len() <= 63);
    }
}

#[test]
fn no_two_of_many_names_collide() {
    let mut seen = HashMap::new();
    for cluster in ["homer", "virgil", "ovid"] {
        for index in 0..2000 {
            for name in [format!("web-{index}"), format!("{}-{index}-end", "long".repeat(70))] {
                let copy = copy_name(&ClusterName::consumer(cluster), &name, NameLimit::Subdomain);
                assert_eq!(seen.insert(copy, (cluster, name)), None);
            }
        }
    }
}
