//! The broker is killed at random moments under a stream of changes, and ends where it would have ended without.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use e2e::{Object, Place, Scene, World, kind::CERTIFICATE};
use harness::{Dice, wait_for};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::{FINALIZER, PEACE, PROVIDER, WORLD, cast};

/// Deaths of the broker.
const DEATHS: usize = 20;
/// Changes around each.
const CHANGES: usize = 14;
/// Names that consumers use; both use all.
const NAMES: u64 = 12;
/// How long the broker may take to be done after the last death.
const LONG: Duration = Duration::from_secs(90);

/// What people want: consumer and name → fqdn.
type Wanted = BTreeMap<(String, String), String>;

/// One change, as a person in a consumer or a careless one in a provider makes it.
async fn change(scene: &Scene<'_>, dice: &mut Dice, wanted: &mut Wanted) {
    let [homer, bart, ariadne, theseus] = cast(scene.world);
    let consumer = if dice.below(2) == 0 { homer } else { bart };
    let provider = if dice.below(2) == 0 { ariadne } else { theseus };
    let name = format!("web-{}", dice.below(NAMES));
    let fqdn = scene.fqdn(&format!("v{}", dice.below(1_000_000)));
    let key = (consumer.name().to_owned(), name.clone());
    match dice.below(10) {
        0..4 => set(scene, consumer, &name, &fqdn, wanted, key).await,
        4..6 => {
            if wanted.remove(&key).is_some() {
                consumer.delete(&CERTIFICATE, scene.ns(), &name).await;
            }
        }
        6 => {
            let marks = ["consumer-cluster", "consumer-name", "consumer-namespace", "consumer-uid", "origin"];
            let marks: Value =
                marks.iter().map(|mark| (format!("broker.platform-mesh.io/{mark}"), Value::Null)).collect();
            meddle(provider, scene, &consumer.copy_name(&name), &json!({"metadata": {"annotations": marks}})).await;
        }
        7 => meddle(provider, scene, &consumer.copy_name(&name), &json!({"spec": {"fqdn": "meddled"}})).await,
        8 => {
            let api = provider.api(&CERTIFICATE, scene.ns());
            // It may not be there.
            let _ = api.delete(&consumer.copy_name(&name), &DeleteParams::default()).await;
        }
        _ => {
            let api = provider.api(&CERTIFICATE, scene.ns());
            let status = json!({"status": {"status": "Provisioning"}});
            let _ = api.patch_status(&consumer.copy_name(&name), &PatchParams::default(), &Patch::Merge(status)).await;
        }
    }
}

async fn meddle(provider: &Place, scene: &Scene<'_>, copy: &str, patch: &Value) {
    let api = provider.api(&CERTIFICATE, scene.ns());
    // It may not be there.
    let _ = api.patch(copy, &PatchParams::default(), &Patch::Merge(patch)).await;
}

async fn set(scene: &Scene<'_>, consumer: &Place, name: &str, fqdn: &str, wanted: &mut Wanted, key: (String, String)) {
    if wanted.contains_key(&key) {
        consumer.edit(&CERTIFICATE, scene.ns(), name, json!({"spec": {"fqdn": fqdn}})).await;
    } else {
        let object = CERTIFICATE.object(scene.ns(), name, &json!({"spec": {"fqdn": fqdn}}));
        match consumer.try_create(&CERTIFICATE, &object).await {
            Ok(_) => {}
            // The one that was deleted before is still there: then this one is not wanted.
            Err(kube::Error::Api(status)) if status.code == 409 => return,
            Err(error) => panic!("{error}"),
        }
    }
    wanted.insert(key, fqdn.to_owned());
}

/// Everything in the namespace, object by object: what differs from what should be.
async fn differences(scene: &Scene<'_>, wanted: &Wanted, status: Option<&str>) -> Vec<String> {
    let [homer, bart, ariadne, theseus] = cast(scene.world);
    let mut wrong = Vec::new();
    let mut copies: BTreeMap<String, Vec<(&str, Object)>> = BTreeMap::new();
    for provider in [ariadne, theseus] {
        for copy in provider.list(&CERTIFICATE, scene.ns()).await {
            copies.entry(copy.name().to_owned()).or_default().push((provider.name(), copy));
        }
    }
    let mut expected = BTreeSet::new();
    for consumer in [homer, bart] {
        for origin in consumer.list(&CERTIFICATE, scene.ns()).await {
            let at = format!("{} {}", consumer.name(), origin.name());
            let Some(fqdn) = wanted.get(&(consumer.name().to_owned(), origin.name().to_owned())) else {
                wrong.push(format!("{at} should be gone: {origin}"));
                continue;
            };
            expected.insert(at.clone());
            let copies = copies.remove(&consumer.copy_name(origin.name())).unwrap_or_default();
            let [(provider, copy)] = &copies[..] else {
                wrong.push(format!("{at} has {} copies: {copies:?}", copies.len()));
                continue;
            };
            let mark = |name: &str| copy.annotation(&format!("broker.platform-mesh.io/{name}")).unwrap_or_default();
            let facts = [
                ("spec", origin.text("/spec/fqdn") == fqdn && copy.text("/spec/fqdn") == fqdn),
                ("finalizer", origin.finalizers() == [FINALIZER] && copy.finalizers().is_empty()),
                ("alive", !origin.is_deleting() && !copy.is_deleting()),
                ("assignment", origin.annotation(PROVIDER) == Some(provider)),
                ("uid", mark("consumer-uid") == origin.uid()),
                ("origin", mark("consumer-cluster") == consumer.name() && mark("consumer-name") == origin.name()),
                ("signature", !mark("origin").is_empty()),
                ("placed", origin.has("Brokered", "True", "Placed")),
                ("status", status.is_none_or(|status| origin.text("/status/status") == status)),
            ];
            wrong.extend(
                facts.iter().filter(|(_, right)| !right).map(|(fact, _)| format!("{at}: {fact}: {origin} {copy}")),
            );
        }
    }
    wrong.extend(copies.into_iter().map(|(name, copies)| format!("{name} has no origin: {copies:?}")));
    let missing =
        wanted.keys().map(|(consumer, name)| format!("{consumer} {name}")).filter(|at| !expected.contains(at));
    wrong.extend(missing.map(|at| format!("{at} is missing")));
    wrong
}

async fn until_right(scene: &Scene<'_>, wanted: &Wanted, status: Option<&str>, seed: u64) {
    let what = format!("everything to be as it should be after seed {seed}");
    let compared = wait_for(LONG, &what, async || match differences(scene, wanted, status).await {
        wrong if wrong.is_empty() => Ok(()),
        wrong => Err(format!("{} differences\n{}", wrong.len(), wrong.join("\n"))),
    });
    compared.await.unwrap_or_else(|error| panic!("{error:#}"));
}

async fn die_again_and_again(world: &World, scene: &Scene<'_>, dice: &mut Dice) -> Wanted {
    let mut wanted = Wanted::new();
    for _ in 0..DEATHS {
        let moment = Duration::from_millis(dice.below(250));
        let newborn = dice.below(3) == 0;
        let breath = Duration::from_millis(dice.below(900));
        let changes = async {
            for _ in 0..CHANGES {
                change(scene, dice, &mut wanted).await;
            }
        };
        let death = async {
            let mut guard = world.broker().await;
            let broker = guard.as_mut().unwrap();
            // The moment is random on purpose.
            tokio::time::sleep(moment).await;
            broker.kill();
            if newborn {
                // Once more, before it is ready or just after.
                let _ = tokio::time::timeout(breath, broker.start_again(&world.lab)).await;
                broker.kill();
            }
            broker.start_again(&world.lab).await;
        };
        tokio::join!(changes, death);
    }
    wanted
}

#[test]
fn killed_at_random_moments_the_end_is_the_same() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_121);
        println!("seed {seed} (set SEED for another)");
        let mut dice = Dice::new(seed);
        let [homer, bart, ariadne, theseus] = cast(world);
        let scene = Scene::new(world, "crash", &[homer, bart]).await;
        for provider in [ariadne, theseus] {
            scene.accept(provider, Value::Null).await;
        }
        let wanted = die_again_and_again(world, &scene, &mut dice).await;
        assert!(wanted.len() > 4, "something is left to compare");
        until_right(&scene, &wanted, None, seed).await;
        for provider in [ariadne, theseus] {
            for copy in provider.list(&CERTIFICATE, scene.ns()).await {
                crate::make_available(provider, &copy).await;
            }
        }
        until_right(&scene, &wanted, Some("Available"), seed).await;
        let log = world.broker().await.as_ref().unwrap().log();
        assert!(!log.contains("panicked"), "{log}");
        scene.clear(&CERTIFICATE, &[homer, bart]).await;
    });
}
