//! What is asked about an object, with the rights that `join` has given: people hold no other way to consumers and providers.

use crate::{
    alone,
    installation::{SHOP, WEB},
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
        }
    });
}
