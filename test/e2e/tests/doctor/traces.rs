//! What is asked about objects and clusters, with the rights that `join` has given: people hold no other way to consumers and
//! providers.

use e2e::{Object, kind::ACCEPT_API, said::text_alike, scene::ACCEPT_NAMESPACE};
use serde_json::json;

use crate::{
    alone,
    installation::{ACCEPTS, SHOP, WEB},
    said::is_said,
};

#[test]
fn an_object_is_explained_traced_and_compared_with_the_rights_of_its_clusters() {
    alone(async |at| {
        at.until_sound("before it is asked").await;
        let object = format!("certificate/{WEB}");
        for (command, told) in [
            ("why", "Served: at provider theseus"),
            ("trace", "provider#theseus Certificate shop/"),
            ("diff", "consumer#homer and provider#theseus say the same"),
        ] {
            let said = at.command(&[command, &object, "--namespace", SHOP]).await;
            assert!(said.code == Some(0) && said.out.contains(told), "{said:?}");
            assert!(!said.shown().contains("forbidden"), "{said:?}");
            is_said(at, &format!("web-{command}.txt"), &said.shown());
            at.command(&[command, &object, "--namespace", SHOP, "-o", "json"]).await.json();
        }
    });
}

#[test]
fn tables_are_those_of_the_clusters_that_have_joined() {
    alone(async |at| {
        at.until_sound("before it is listed").await;
        let holds = |seen: &Object| seen.at("/status/placed") == &json!(1);
        at.theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, ACCEPTS, "to hold the object", holds).await;
        let tables: [&[&str]; 4] = [&["clusters"], &["acceptapis"], &["objects", "certificates"], &["migrations"]];
        let mut all = Vec::new();
        for args in tables {
            let said = at.command(args).await;
            assert_eq!((said.code, &*said.err), (Some(0), ""), "{said:?}");
            all.push(said.shown());
            at.command(&[args, &["-o", "json"]].concat()).await.json();
        }
        is_said(at, "tables.txt", &text_alike(&all.join("\n")));
    });
}
