//! Nobody else accepts it: the object stays where it is.

use e2e::{
    Object, Scene,
    traveller::{NEW_PROVIDER, PROVIDER},
};
use serde_json::{Value, json};

use crate::{PEACE, WORLD, cast, change, controllers, prefix, served, shows, tell};

#[test]
fn nobody_else_accepts_it_so_it_stays_until_somebody_does() {
    WORLD.run(async |world| {
        let _peace = PEACE.read().await;
        let [homer, ariadne, theseus, _] = cast(world);
        let scene = Scene::new(world, "moves-nobody", &[homer]).await;
        scene.accept(ariadne, prefix("a-")).await;
        let brought_up = controllers(&scene, &[ariadne]);
        let (web, old) = served(&scene, homer, "a-web", ariadne).await;
        drop(brought_up);
        web.edit(json!({"fqdn": scene.fqdn("b-web")})).await;
        let refused = |seen: &Object| {
            let told = seen.condition("Accepted");
            told.is_some_and(|told| told.status == "False" && told.message.contains("fqdn"))
        };
        let seen = web.until("Accepted=False", refused).await;
        assert!(seen.annotation(PROVIDER) == Some("ariadne") && seen.annotation(NEW_PROVIDER).is_none(), "{seen}");
        assert!(seen.has("Brokered", "True", "Placed"), "it is served as before: {seen}");

        tell(ariadne, &web, "Degraded").await;
        web.until("the status goes on", |seen| refused(seen) && shows("Degraded")(seen)).await;
        let kept = web.copy(ariadne).await;
        assert_eq!((kept.uid(), kept.generation()), (old.uid(), old.generation()), "the new spec is held back: {kept}");

        let _controllers = controllers(&scene, &[theseus]);
        scene.accept(theseus, prefix("b-")).await;
        web.until_served_by(theseus).await;
        web.until("to be accepted", |seen| !refused(seen)).await;
        assert_eq!(web.copy(theseus).await.text("/spec/fqdn"), scene.fqdn("b-web"));
        web.until_copy_gone(ariadne).await;
    });
}

#[test]
fn a_drained_provider_keeps_what_nobody_else_takes() {
    WORLD.run(async |world| {
        let _peace = PEACE.read().await;
        let [homer, ariadne, theseus, _] = cast(world);
        let scene = Scene::new(world, "moves-drain-none", &[homer]).await;
        let _controllers = controllers(&scene, &[ariadne, theseus]);
        let accept = scene.accept(ariadne, Value::Null).await;
        let (web, old) = served(&scene, homer, "web", ariadne).await;
        let drain =
            json!({"spec": {"cordoned": true}, "metadata": {"annotations": {"broker.platform-mesh.io/drain": "true"}}});
        change(ariadne, &accept, drain).await;
        let says = |seen: &Object| {
            seen.condition("Moving").is_some_and(|told| told.status == "False" && told.message.contains("drain"))
        };
        web.until("to say that it cannot leave", says).await;
        web.edit(json!({"fqdn": scene.fqdn("edited")})).await;
        let edited = |seen: &Object| seen.text("/spec/fqdn") == scene.fqdn("edited");
        let copy = web.copy_until(ariadne, "the edit: it is still accepted", edited).await;
        assert_eq!(copy.uid(), old.uid());
        scene.accept(theseus, Value::Null).await;
        web.until_served_by(theseus).await;
        web.until_copy_gone(ariadne).await;
    });
}

#[test]
fn an_object_that_its_provider_accepts_again_is_accepted() {
    WORLD.run(async |world| {
        let _peace = PEACE.read().await;
        let [homer, ariadne, _, _] = cast(world);
        let scene = Scene::new(world, "moves-again", &[homer]).await;
        scene.accept(ariadne, prefix("a-")).await;
        let _controllers = controllers(&scene, &[ariadne]);
        let (web, old) = served(&scene, homer, "a-web", ariadne).await;
        web.edit(json!({"fqdn": scene.fqdn("b-web")})).await;
        let refused = |seen: &Object| seen.condition("Accepted").is_some_and(|told| told.status == "False");
        web.until("Accepted=False", refused).await;
        web.edit(json!({"fqdn": scene.fqdn("a-web-2")})).await;
        let edited = |seen: &Object| seen.text("/spec/fqdn") == scene.fqdn("a-web-2");
        assert_eq!(web.copy_until(ariadne, "the spec", edited).await.uid(), old.uid());
        web.until("to be accepted again", |seen| !refused(seen)).await;
    });
}
