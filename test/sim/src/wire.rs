//! `Wire`: one process's way to the API servers of a world, and what goes wrong on it.
//!
//! What happens to a request follows from the wire's seed. A wire can break for good after so many writes: to the world that
//! is the crash of its process, of which nothing arrives any more.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::stream;
use http::{HeaderValue, Method, Request, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Bytes;
use kube::client::Body;
use runtime_fleet::{
    dial::{Content, Dial, Dialed, Dialing, Sends, sends},
    kubeconfig::Kubeconfig,
};
use serde_json::json;
use tokio::{sync::watch, time::sleep};
use tower::{BoxError, ServiceExt as _};

use crate::{server::ApiServer, uids::Uids, world::World};

/// What bytes are mixed with: FNV-1a's prime.
const FNV: u64 = 0x0100_0000_01b3;

/// How many of a thousand requests meet with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weather {
    /// It never arrives, and whoever sent it is told that the connection is lost.
    pub lost: u64,
    /// It arrives; the answer does not. Every other time nobody is told, either.
    pub unanswered: u64,
    /// It is refused, for the server is busy or broken.
    pub refused: u64,
    /// A write is refused: somebody else was faster.
    pub conflicts: u64,
    /// It takes up to three seconds, half of them before it arrives.
    pub late: u64,
    /// A watch's answer ends after a few events; every other time in the middle of a line.
    pub cut: u64,
    /// Each write takes so long until it is done. One that is given up before is not.
    pub slow: Duration,
}

impl Weather {
    /// Nothing goes wrong.
    pub const CALM: Self =
        Self { lost: 0, unanswered: 0, refused: 0, conflicts: 0, late: 0, cut: 0, slow: Duration::ZERO };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passes,
    Lost,
    Unanswered { silently: bool },
    Refused(u16),
    Conflict,
    Late(Duration),
    Cut { after: u64, torn: bool },
}

/// One process's way to the API servers of a world. Cloning it yields the same one.
#[derive(Clone)]
pub struct Wire(Arc<Inner>);

struct Inner {
    world: Arc<World>,
    /// What the process calls itself.
    program: String,
    state: Mutex<State>,
    broken: watch::Sender<bool>,
}

struct State {
    seed: u64,
    /// How often each request was sent: in which order those are sent that do not wait for each other is chance.
    sent: BTreeMap<String, u64>,
    weather: Weather,
    writes: u64,
    breaks_after: Option<u64>,
}

impl Wire {
    /// A wire for a process that calls itself `program`. It breaks when that many writes of it are done: the last one's
    /// answer is not heard any more.
    pub fn new(world: &Arc<World>, program: &str, seed: u64, weather: Weather, breaks_after: Option<u64>) -> Self {
        let state = State { seed, sent: BTreeMap::new(), weather, writes: 0, breaks_after };
        let (world, program) = (Arc::clone(world), program.to_owned());
        Self(Arc::new(Inner { world, program, state: Mutex::new(state), broken: watch::Sender::new(false) }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on so much goes wrong.
    pub fn set_weather(&self, weather: Weather) {
        self.state().weather = weather;
    }

    /// How many writes were done.
    pub fn writes(&self) -> u64 {
        self.state().writes
    }

    /// Breaks it now.
    pub fn cut(&self) {
        self.0.broken.send_replace(true);
    }

    /// Until it is broken.
    pub async fn broken(&self) {
        let mut broken = self.0.broken.subscribe();
        // We hold the other end.
        let _ = broken.wait_for(|broken| *broken).await;
    }

    fn is_broken(&self) -> bool {
        *self.0.broken.borrow()
    }

    fn fate(&self, server: &str, what: &str, writes: bool, watches: bool) -> Fate {
        let mut state = self.state();
        let what = format!("{server} {what}");
        let mut random =
            Uids::seeded(what.bytes().fold(state.seed, |seed, byte| (seed ^ u64::from(byte)).wrapping_mul(FNV)));
        let times = state.sent.entry(what).or_default();
        *times += 1;
        let mut random = Uids::seeded(random.number().wrapping_add(*times));
        let (chance, detail) = (random.number() % 1000, random.number());
        let Weather { lost, unanswered, refused, conflicts, late, cut, slow: _ } = state.weather;
        let conflicts = if writes { conflicts } else { 0 };
        let cut = if watches { cut } else { 0 };
        let fates = [
            (lost, Fate::Lost),
            (unanswered, Fate::Unanswered { silently: detail.is_multiple_of(2) }),
            (refused, Fate::Refused([429, 500, 503][usize::try_from(detail % 3).unwrap_or_default()])),
            (conflicts, Fate::Conflict),
            (late, Fate::Late(Duration::from_millis(detail % 1500 * 2))),
            (cut, Fate::Cut { after: detail / 2 % 6, torn: detail.is_multiple_of(2) }),
        ];
        let mut below = 0;
        let met = fates.into_iter().find(|(share, _)| {
            below += share;
            chance < below
        });
        met.map_or(Fate::Passes, |(_, fate)| fate)
    }

    async fn send(self, server: ApiServer, mut request: Request<Body>) -> Result<Response<Content>, BoxError> {
        if self.is_broken() {
            return pending().await;
        }
        if let Ok(name) = HeaderValue::from_str(&self.0.program) {
            request.headers_mut().entry(header::USER_AGENT).or_insert(name);
        }
        let query = request.uri().query().unwrap_or_default();
        let watches = query.split('&').any(|pair| pair == "watch=1" || pair == "watch=true");
        let writes = request.method() != Method::GET;
        let what = format!("{} {}", request.method(), request.uri().path());
        let fate = self.fate(server.name(), &what, writes, watches);
        if fate != Fate::Passes {
            self.0.world.tell(server.name(), &self.0.program, format!("{fate:?}: {what}"));
        }
        match fate {
            Fate::Lost => return Err("connection reset by peer".into()),
            Fate::Refused(code) => return refusal(code, "it is too busy"),
            Fate::Conflict => return refusal(409, "the object has been modified"),
            Fate::Late(wait) => sleep(wait / 2).await,
            Fate::Passes | Fate::Unanswered { .. } | Fate::Cut { .. } => {}
        }
        let slow = self.state().weather.slow;
        // A sleep takes a millisecond at the least.
        if writes && !slow.is_zero() {
            sleep(slow).await;
        }
        if self.is_broken() {
            return pending().await;
        }
        let answer = server.sends().oneshot(request).await?;
        if writes && answer.status().is_success() {
            self.written();
        }
        match fate {
            Fate::Unanswered { silently: true } => return pending().await,
            Fate::Unanswered { silently: false } => return Err("connection reset by peer".into()),
            Fate::Late(wait) => sleep(wait / 2).await,
            _ => {}
        }
        if self.is_broken() {
            return pending().await;
        }
        let left = if let Fate::Cut { after, torn } = fate { Some((after, torn)) } else { None };
        Ok(if watches { answer.map(|content| self.watched(content, left)) } else { answer })
    }

    fn written(&self) {
        let mut state = self.state();
        state.writes += 1;
        let breaks = state.breaks_after.is_some_and(|limit| state.writes >= limit);
        drop(state);
        if breaks {
            self.cut();
        }
    }

    /// A watch's answer, as long as the wire holds, or until it is cut after so many frames.
    fn watched(&self, content: Content, left: Option<(u64, bool)>) -> Content {
        let started = (self.clone(), content, left);
        let frames = stream::unfold(started, |(wire, mut content, left)| async move {
            let frame = tokio::select! {
                biased;
                () = wire.broken() => return pending().await,
                frame = content.frame() => frame?.ok()?,
            };
            match left {
                Some((0, false)) => None,
                Some((0, true)) => {
                    let data = frame.into_data().ok()?;
                    let part = data.slice(..data.len() / 2);
                    Some((
                        Ok::<_, Infallible>(Frame::data(part)),
                        (wire, Full::default().map_err(never).boxed_unsync(), None),
                    ))
                }
                left => {
                    let left = left.map(|(after, torn)| (after - 1, torn));
                    Some((Ok(frame), (wire, content, left)))
                }
            }
        });
        StreamBody::new(frames).map_err(never).boxed_unsync()
    }
}

fn never(never: Infallible) -> BoxError {
    match never {}
}

fn refusal(code: u16, message: &str) -> Result<Response<Content>, BoxError> {
    let reason = match code {
        409 => "Conflict",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        _ => "InternalError",
    };
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code});
    let content = Full::new(Bytes::from(status.to_string())).map_err(never).boxed_unsync();
    let answer = Response::builder().status(code).header(header::CONTENT_TYPE, "application/json");
    let answer = if code == 429 { answer.header(header::RETRY_AFTER, "1") } else { answer };
    Ok(answer.body(content)?)
}

impl Dial for Wire {
    fn dial<'a>(&'a self, kubeconfig: &'a Kubeconfig) -> Dialing<'a> {
        let wire = self.clone();
        let found = self.0.world.behind(kubeconfig);
        Box::pin(async move {
            let (host, server) = found?;
            let send = move |request| wire.clone().send(server.clone(), request);
            let service: Sends = sends(tower::service_fn(send));
            Ok(Dialed { service, host, valid_until: None })
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
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
                let name =
                    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": format!("n{n}-")}});
                let whole = Wire::new(&world, "me", 1, Weather::CALM, None);
                ask(&whole, Method::POST, "/api/v1/namespaces", &name.to_string()).await;
            }
            assert!(told.await.is_ok(), "it has ended");
        }
    }
}
