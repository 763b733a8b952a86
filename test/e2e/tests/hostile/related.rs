//! Related resources: which names a provider may choose, and how much it may send.

use e2e::{
    Object, Scene,
    kind::{ACCEPT_API, CERTIFICATE, CONFIG_MAP},
    scene::ACCEPT_NAMESPACE,
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, WORLD};

#[test]
fn a_provider_plants_no_name_that_it_has_not_announced_and_none_of_kubernetes() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "hostile-names", &[homer]).await;
        let accept = scene.accept(ariadne, Value::Null).await;
        scene.certificate(homer, "www").await;
        let copy = scene.copy(homer, "www", ariadne).await;
        let own = format!("{}-ca", copy.name());
        let planted = ["istio-ca-root-cert", "kube-root-ca-2.crt", "wwwx"];
        let mut related = json!({});
        for name in planted.into_iter().chain([own.as_str()]) {
            ariadne.create(&CONFIG_MAP, scene.ns(), name, json!({"data": {"ca.crt": "theirs"}})).await;
            related[format!("z-{name}")] = json!({"gvk": CONFIG_MAP.gvk(), "name": name});
        }
        ariadne.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"relatedResources": related})).await;
        homer.until_there(&CONFIG_MAP, scene.ns(), "www-ca").await;
        for name in planted {
            homer.until_event(scene.ns(), "www", "RelatedRefused", |event| event.message.contains(name)).await;
        }
        scene.barrier(homer, ariadne).await;
        let here = homer.list(&CONFIG_MAP, scene.ns()).await;
        let names: Vec<&str> = here.iter().map(Object::name).filter(|name| *name != "kube-root-ca.crt").collect();
        assert_eq!(names, ["www-ca"]);

        // What the AcceptAPI announces arrives, but what is Kubernetes' own.
        let names = json!({"spec": {"relatedNames": ["istio-*", "kube-*"]}});
        ariadne.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, names).await;
        homer.until_there(&CONFIG_MAP, scene.ns(), "istio-ca-root-cert").await;
        scene.barrier(homer, ariadne).await;
        assert!(homer.find(&CONFIG_MAP, scene.ns(), "kube-root-ca-2.crt").await.is_none());
    });
}
