//! What makes an object leave its provider, and how it does: the new copy first, then the switch, then the old copy.

use e2e::{
    Object, Place, Recording, Scene,
    kind::{CERTIFICATE, SECRET},
    traveller::{NEW_PROVIDER, PROVIDER, moving, secret_of},
};
use serde_json::{Value, json};

use crate::{PEACE, WORLD, cast, change, controllers, prefix, reject, served, shows, tell};

#[test]
fn a_spec_that_no_longer_matches_moves_the_object_without_a_gap() {
    WORLD.run(async |world| {
        let _peace = PEACE.read().await;
        let [homer, ariadne, theseus, _] = cast(world);
        let scene = Scene::new(world, "moves-spec", &[homer]).await;
        scene.accept(ariadne, prefix("a-")).await;
        scene.accept(theseus, prefix("b-")).await;
        let brought_up = controllers(&scene, &[ariadne]);
        let (web, old) = served(&scene, homer, "a-web", ariadne).await;
        drop(brought_up);
        let origins = Recording::begin(homer, &CERTIFICATE, scene.ns()).await;
        let secrets = Recording::begin(homer, &SECRET, scene.ns()).await;
        let copies = Recording::begin(ariadne, &CERTIFICATE, scene.ns()).await;

        // Nothing brings the new copy up yet: the old one serves, in what it was ordered.
        web.edit(json!({"fqdn": scene.fqdn("b-web")})).await;
        let new = web.copy(theseus).await;
        assert_eq!(new.text("/spec/fqdn"), scene.fqdn("b-web"));
        let tells = |seen: &Object| {
            let told = seen.condition("Moving");
            told.is_some_and(|told| {
                told.status == "True" && told.message.contains("ariadne") && told.message.contains("theseus")
            })
        };
        let seen = web.until("to say that it moves", tells).await;
        assert!(moving(ariadne, theseus)(&seen), "{seen}");
        assert!(seen.has("Brokered", "True", "Placed") && shows("Available")(&seen), "{seen}");
        tell(theseus, &web, "Provisioning").await;
        tell(ariadne, &web, "Degraded").await;
        web.until("the old provider's status", shows("Degraded")).await;
        let kept = web.copy(ariadne).await;
        assert_eq!((kept.uid(), kept.generation()), (old.uid(), old.generation()), "the new spec is held back: {kept}");
        assert!(secret_of(ariadne)(&homer.get(&SECRET, scene.ns(), &web.secret()).await));

        let _theseus = controllers(&scene, &[theseus]);
        let seen = web.until_served_by(theseus).await;
        assert!(shows("Available")(&seen), "{seen}");
        web.until_copy_gone(ariadne).await;
        homer.until_event(scene.ns(), "a-web", "Moved", |told| told.message.contains("theseus")).await;

        let look = |seen: &Object| {
            let at = |key| seen.annotation(key).unwrap_or("-").to_owned();
            format!("{} {}", at(PROVIDER), at(NEW_PROVIDER))
        };
        assert_eq!(origins.course("a-web", look).await, ["ariadne -", "ariadne theseus", "theseus -"]);
        let status = |seen: &Object| seen.text("/status/status").to_owned();
        let course = origins.course("a-web", status).await;
        assert_eq!(course, ["Available", "Degraded", "Available"], "one status at any time: never Provisioning");
        let secrets = secrets.of(&web.secret()).await;
        assert!(secrets.iter().all(|change| !change.deleted), "the Secret was never missing: {secrets:?}");
        let uids = secrets.iter().all(|change| change.object.uid() == secrets[0].object.uid());
        assert!(uids && secret_of(theseus)(&secrets.last().unwrap().object), "{secrets:?}");
        let copies = copies.of(old.name()).await;
        let same =
            copies.iter().all(|change| change.object.generation() == old.generation() || change.object.is_deleting());
        assert!(same && copies.last().unwrap().deleted, "{copies:?}");
    });
}

/// A Certificate of ariadne moves to theseus when something happens to the AcceptAPI of ariadne.
fn leaves_when(name: &str, cause: &impl AsyncFn(&Place, &str)) {
    WORLD.run(async |world| {
        let _peace = PEACE.read().await;
        let [homer, ariadne, theseus, _] = cast(world);
        let scene = Scene::new(world, name, &[homer]).await;
        let _controllers = controllers(&scene, &[ariadne, theseus]);
        let accept = scene.accept(ariadne, json!({"priority": 1})).await;
        let (web, _) = served(&scene, homer, "web", ariadne).await;
        scene.accept(theseus, Value::Null).await;
        let secrets = Recording::begin(homer, &SECRET, scene.ns()).await;
        cause(ariadne, &accept).await;
        web.until_served_by(theseus).await;
        web.until_copy_gone(ariadne).await;
        let secrets = secrets.of(&web.secret()).await;
        assert!(secrets.iter().all(|change| !change.deleted), "{secrets:?}");
    });
}

#[test]
fn an_accept_api_that_is_edited_moves_its_objects() {
    leaves_when("moves-edited", &async |ariadne, accept| {
        change(ariadne, accept, json!({"spec": {"filters": [{"key": "fqdn", "suffix": ".elsewhere"}]}})).await;
    });
}

#[test]
fn an_accept_api_that_is_deleted_moves_its_objects() {
    leaves_when("moves-deleted", &async |ariadne, accept| reject(ariadne, accept).await);
}

#[test]
fn a_cordoned_accept_api_that_is_drained_moves_its_objects_and_neither_alone_does() {
    WORLD.run(async |world| {
        let _peace = PEACE.read().await;
        let [homer, ariadne, theseus, _] = cast(world);
        let scene = Scene::new(world, "moves-drain", &[homer]).await;
        let _controllers = controllers(&scene, &[ariadne, theseus]);
        let drain = |word: Value| json!({"metadata": {"annotations": {"broker.platform-mesh.io/drain": word}}});
        let accept = scene.accept(ariadne, json!({"priority": 1})).await;
        let (web, old) = served(&scene, homer, "web", ariadne).await;
        scene.accept(theseus, Value::Null).await;
        change(ariadne, &accept, json!({"spec": {"cordoned": true}})).await;
        scene.barrier(homer, ariadne).await;
        change(ariadne, &accept, json!({"spec": {"cordoned": false}})).await;
        change(ariadne, &accept, drain(json!("true"))).await;
        scene.barrier(homer, ariadne).await;
        let seen = web.get().await;
        assert!(seen.annotation(PROVIDER) == Some("ariadne") && seen.annotation(NEW_PROVIDER).is_none(), "{seen}");
        assert_eq!(web.copy(ariadne).await.uid(), old.uid());

        change(ariadne, &accept, json!({"spec": {"cordoned": true}})).await;
        web.until_served_by(theseus).await;
        web.until_copy_gone(ariadne).await;

        // Drained without anybody to go to: it stays, says so, and is served as before.
        change(ariadne, &accept, drain(Value::Null)).await;
        change(ariadne, &accept, json!({"spec": {"cordoned": false}})).await;
        scene.barrier(homer, ariadne).await;
        assert_eq!(web.get().await.annotation(PROVIDER), Some("theseus"), "a better AcceptAPI alone moves nothing");
    });
}
