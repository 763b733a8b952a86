use runtime_fleet::kubeconfig::Trust;

use super::*;

async fn ask(wire: &Wire, method: Method, path: &str, body: &str) -> Option<Result<u16, String>> {
    let kubeconfig = Kubeconfig::parse(&World::kubeconfig("a"), &Trust::Secret).unwrap();
    let service = wire.dial(&kubeconfig).await.unwrap().service;
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request = request.body(Body::from(body.as_bytes().to_vec())).unwrap();
    let answer = tokio::time::timeout(Duration::from_mins(1), service.oneshot(request)).await.ok()?;
    Some(answer.map(|answer| answer.status().as_u16()).map_err(|error| error.to_string()))
}

fn map(name: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}).to_string()
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test(start_paused = true)]
async fn it_breaks_after_its_last_write_which_is_done() {
    let world = World::new(1);
    world.server("a");
    let wire = Wire::new(&world, "me", 1, Weather::CALM, Some(2));
    assert_eq!(ask(&wire, Method::POST, MAPS, &map("m")).await, Some(Ok(201)));
    assert_eq!(ask(&wire, Method::POST, MAPS, &map("m")).await, Some(Ok(409)), "this is none");
    assert_eq!(ask(&wire, Method::POST, MAPS, &map("n")).await, None);
    wire.broken().await;
    assert_eq!(ask(&wire, Method::GET, MAPS, "").await, None);
    let whole = Wire::new(&world, "me", 1, Weather::CALM, None);
    assert_eq!(ask(&whole, Method::GET, &format!("{MAPS}/n"), "").await, Some(Ok(200)));
    assert!(world.journal().entries().iter().any(|entry| entry.by == "me" && entry.server == "a"));
}

#[tokio::test(start_paused = true)]
async fn what_is_lost_is_not_done_and_what_is_unanswered_is() {
    let world = World::new(1);
    world.server("a");
    let write = async |weather, name: &str| {
        let wire = Wire::new(&world, "me", 1, weather, None);
        let answer = ask(&wire, Method::POST, MAPS, &map(name)).await;
        assert!(!matches!(answer, Some(Ok(201))), "{answer:?}");
        wire.set_weather(Weather::CALM);
        ask(&wire, Method::GET, &format!("{MAPS}/{name}"), "").await.unwrap().unwrap()
    };
    assert_eq!(write(Weather { lost: 1000, ..Weather::CALM }, "a").await, 404);
    assert_eq!(write(Weather { refused: 1000, ..Weather::CALM }, "b").await, 404);
    assert_eq!(write(Weather { conflicts: 1000, ..Weather::CALM }, "c").await, 404);
    assert_eq!(write(Weather { unanswered: 1000, ..Weather::CALM }, "d").await, 200);
}

#[tokio::test(start_paused = true)]
async fn what_is_given_up_before_it_is_done_is_not() {
    let world = World::new(1);
    world.server("a");
    let seen = async |slow| {
        let wire = Wire::new(&world, "me", 1, Weather { slow: Duration::from_secs(slow), ..Weather::CALM }, None);
        let answer = ask(&wire, Method::POST, MAPS, &map(&format!("m{slow}"))).await;
        (answer, ask(&wire, Method::GET, &format!("{MAPS}/m{slow}"), "").await)
    };
    assert_eq!(seen(59).await, (Some(Ok(201)), Some(Ok(200))));
    assert_eq!(seen(61).await, (None, Some(Ok(404))));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_cut_ends() {
    let world = World::new(1);
    world.server("a");
    let wire = Wire::new(&world, "me", 1, Weather { cut: 1000, ..Weather::CALM }, None);
    let kubeconfig = Kubeconfig::parse(&World::kubeconfig("a"), &Trust::Secret).unwrap();
    let service = wire.dial(&kubeconfig).await.unwrap().service;
    for _ in 0..20 {
        let request = Request::get("/api/v1/namespaces?watch=1&timeoutSeconds=1000").body(Body::empty()).unwrap();
        let answer = service.clone().oneshot(request).await.unwrap();
        let told = tokio::time::timeout(Duration::from_mins(1), answer.into_body().collect());
        for n in 0..8 {
            let name = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": format!("n{n}-")}});
            let whole = Wire::new(&world, "me", 1, Weather::CALM, None);
            ask(&whole, Method::POST, "/api/v1/namespaces", &name.to_string()).await;
        }
        assert!(told.await.is_ok(), "it has ended");
    }
}

#[tokio::test(start_paused = true)]
async fn what_goes_astray_arrives_when_nobody_waits_for_it_any_more() {
    let world = World::new(1);
    world.server("a");
    let wire = Wire::new(&world, "me", 1, Weather { astray: 1000, ..Weather::CALM }, None);
    assert!(tokio::time::timeout(Duration::from_secs(10), ask(&wire, Method::POST, MAPS, &map("m"))).await.is_err());
    wire.set_weather(Weather::CALM);
    assert_eq!(ask(&wire, Method::GET, &format!("{MAPS}/m"), "").await, Some(Ok(404)));
    sleep(Duration::from_mins(5)).await;
    assert_eq!(ask(&wire, Method::GET, &format!("{MAPS}/m"), "").await, Some(Ok(200)));
}

#[tokio::test(start_paused = true)]
async fn what_a_stopped_process_was_writing_arrives_when_it_goes_on() {
    let world = World::new(1);
    world.server("a");
    let wire = Wire::new(&world, "me", 1, Weather::CALM, None);
    wire.freeze(Duration::from_secs(90));
    assert_eq!(ask(&wire, Method::POST, MAPS, &map("m")).await, None);
    sleep(Duration::from_secs(31)).await;
    assert_eq!(ask(&wire, Method::GET, &format!("{MAPS}/m"), "").await, Some(Ok(200)));
}

#[tokio::test(start_paused = true)]
async fn who_cannot_be_reached_is_asked_in_vain() {
    let world = World::new(1);
    world.server("a");
    let wire = Wire::new(&world, "me", 1, Weather::CALM, None);
    world.set_outage("a", Some(Outage::Refused));
    assert_eq!(ask(&wire, Method::GET, MAPS, "").await, Some(Err("connection refused".to_owned())));
    world.set_outage("a", Some(Outage::Silent));
    assert_eq!(ask(&wire, Method::GET, MAPS, "").await, None);
    world.set_outage("a", Some(Outage::Forbidden));
    assert_eq!(ask(&wire, Method::GET, MAPS, "").await, Some(Ok(403)));
    assert_eq!(ask(&wire, Method::GET, "/api/v1", "").await, Some(Ok(200)), "what is served is no secret");
    world.set_outage("a", None);
    assert_eq!(ask(&wire, Method::GET, MAPS, "").await, Some(Ok(200)));
}
