//! `Wire`: one process's way to the API servers of a world, and what goes wrong on it.
//!
//! What happens to a request follows from the wire's seed. A wire can break for good after so many writes: to the world that
//! is the crash of its process, of which nothing arrives any more.

mod lead;
mod weather;

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
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::yield_now,
    time::{Instant, sleep},
};
use tower::{BoxError, ServiceExt as _};

use self::lead::Lead;
pub use self::weather::Weather;
use crate::{
    server::ApiServer,
    uids::Uids,
    world::{Outage, World},
};

/// What bytes are mixed with: FNV-1a's prime.
const FNV: u64 = 0x0100_0000_01b3;

/// What is told of a deletion, or a write of a status, that does not say which object it means: it could meet another, of the
/// same name.
pub const UNGUARDED: &str = "has no precondition";

/// What is told of a write that is sent, or done, although the process that elects does not lead: another may do so meanwhile.
pub const UNLED: &str = "does not lead any more";

/// What is told of a write that is done long after it was sent, whoever still wants it.
pub const AFTER_ALL: &str = "arrives after all";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passes,
    Lost,
    Unanswered { silently: bool },
    Refused(u16),
    Conflict,
    Late(Duration),
    Cut { after: u64, torn: bool },
    Astray(Duration),
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
    /// Those of `writes` that were no renewals of leases, which are made for ever.
    work: u64,
    breaks_after: Option<u64>,
    /// Until then nothing gets through.
    frozen: Option<Instant>,
    /// How it leads, once it does, where processes elect one of them.
    lead: Option<Lead>,
}

impl Wire {
    /// A wire for a process that calls itself `program`. It breaks when that many writes of it are done, renewals of leases
    /// aside: the last one's answer is not heard any more.
    pub fn new(world: &Arc<World>, program: &str, seed: u64, weather: Weather, breaks_after: Option<u64>) -> Self {
        let (sent, frozen, lead) = Default::default();
        let state = State { seed, sent, weather, writes: 0, work: 0, breaks_after, frozen, lead };
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

    /// How many of them renewed no lease: those after which it may break.
    pub fn work(&self) -> u64 {
        self.state().work
    }

    /// For so long nothing gets through. What was being written arrives afterwards, whoever still wants it.
    pub fn freeze(&self, lasts: Duration) {
        self.0.world.tell("", &self.0.program, format!("is stopped for {} s", lasts.as_secs()));
        self.state().frozen = Some(Instant::now() + lasts);
    }

    /// Tells that its process is stopped for so long.
    pub fn stopped(&self, lasts: Duration) {
        self.0.world.tell("", &self.0.program, format!("stands still for {} s", lasts.as_secs()));
    }

    fn frozen(&self) -> Option<Duration> {
        let left = self.state().frozen?.saturating_duration_since(Instant::now());
        Some(left).filter(|left| !left.is_zero())
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

    /// What it meets with, and a number by chance.
    fn fate(&self, server: &str, what: &str, writes: bool, watches: bool) -> (Fate, u64) {
        let mut state = self.state();
        let what = format!("{server} {what}");
        let mut random = Uids::seeded(mixed(state.seed, &what));
        let times = state.sent.entry(what).or_default();
        *times += 1;
        let mut random = Uids::seeded(random.number().wrapping_add(*times));
        let (chance, detail) = (random.number() % 1000, random.number());
        let Weather { lost, unanswered, refused, conflicts, late, cut, astray, .. } = state.weather;
        let [conflicts, astray] = if writes { [conflicts, astray] } else { [0, 0] };
        let cut = if watches { cut } else { 0 };
        let fates = [
            (lost, Fate::Lost),
            (unanswered, Fate::Unanswered { silently: detail.is_multiple_of(2) }),
            (refused, Fate::Refused([429, 500, 503][usize::try_from(detail % 3).unwrap_or_default()])),
            (conflicts, Fate::Conflict),
            (late, Fate::Late(Duration::from_millis(detail % 1500 * 2))),
            (cut, Fate::Cut { after: detail / 2 % 6, torn: detail.is_multiple_of(2) }),
            (astray, Fate::Astray(Duration::from_secs(20 + detail % 220))),
        ];
        let mut below = 0;
        let met = fates.into_iter().find(|(share, _)| {
            below += share;
            chance < below
        });
        (met.map_or(Fate::Passes, |(_, fate)| fate), detail)
    }

    /// See [`Weather::fine`].
    async fn finely(&self, server: &ApiServer, request: &mut Request<Body>, chance: u64) {
        for _ in 0..chance % 4 {
            yield_now().await;
        }
        let uri = request.uri().to_string();
        if uri.contains("continue=") && (chance / 4).is_multiple_of(8) {
            server.compact();
        }
        if let Ok(uri) = uri.replace("limit=500", "limit=2").parse() {
            *request.uri_mut() = uri;
        }
    }

    async fn send(self, server: ApiServer, mut request: Request<Body>) -> Result<Response<Content>, BoxError> {
        self.0.world.asked();
        if self.is_broken() {
            return pending().await;
        }
        if let Ok(name) = HeaderValue::from_str(&self.0.program) {
            request.headers_mut().entry(header::USER_AGENT).or_insert(name);
        }
        if !is_guarded(&mut request).await? {
            let what = format!("{UNGUARDED}: {} {}", request.method(), request.uri().path());
            self.0.world.tell(server.name(), &self.0.program, what);
        }
        let query = request.uri().query().unwrap_or_default();
        let watches = crate::watches(query);
        let writes = request.method() != Method::GET;
        // Who holds one already says so for ever.
        let elects = writes && request.uri().path().starts_with(lead::PATH);
        let renews = elects && request.method() != Method::POST;
        let what = format!("{} {}", request.method(), request.uri().path());
        let must_lead = writes && !elects;
        self.check_lead(&server, must_lead, &what);
        let (fate, chance) = self.fate(server.name(), &what, writes, watches);
        if fate != Fate::Passes {
            self.0.world.tell(server.name(), &self.0.program, format!("{fate:?}: {what}"));
        }
        if let Some(left) = self.frozen() {
            return if writes { self.stray(server, request, left).await } else { pending().await };
        }
        if self.state().weather.fine {
            self.finely(&server, &mut request, chance).await;
        }
        let mut arrives = true;
        match fate {
            Fate::Lost => return Err("connection reset by peer".into()),
            Fate::Refused(code) => return refusal(code, "it is too busy"),
            Fate::Conflict => return refusal(409, "the object has been modified"),
            Fate::Late(wait) => arrives = self.on_its_way(wait / 2).await,
            Fate::Astray(wait) => return self.stray(server, request, wait).await,
            Fate::Passes | Fate::Unanswered { .. } | Fate::Cut { .. } => {}
        }
        match self.0.world.outage(server.name()) {
            Some(Outage::Refused) => return Err("connection refused".into()),
            Some(Outage::Silent) => return pending().await,
            Some(Outage::Forbidden) if is_about_objects(request.uri().path()) => return refusal(403, "you may not"),
            Some(Outage::Unauthorized) => return refusal(401, "nobody knows you"),
            Some(Outage::Broken) if writes && is_about_objects(request.uri().path()) => {
                return refusal(500, "it has failed");
            }
            Some(Outage::Forbidden | Outage::Broken) | None => {}
        }
        let slow = self.state().weather.slow;
        // A sleep takes a millisecond at the least.
        if writes && !slow.is_zero() {
            arrives &= self.on_its_way(slow).await;
        }
        if self.is_broken() {
            return pending().await;
        }
        if arrives {
            self.check_lead(&server, must_lead, &what);
        } else {
            self.0.world.tell(server.name(), &self.0.program, format!("{AFTER_ALL}: {what}"));
        }
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let answer = server.sends().oneshot(request).await?;
        if writes && answer.status().is_success() {
            if elects {
                self.state().lead = Lead::written(&server, &method, &path);
            }
            self.written(!renews);
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
        Ok(if watches { answer.map(|content| self.watched(&server, content, left, &path)) } else { answer })
    }

    /// Waits so long. `false`: its process stood still meanwhile; what was sent before that arrives after all.
    async fn on_its_way(&self, takes: Duration) -> bool {
        let due = Instant::now() + takes;
        sleep(takes).await;
        Instant::now() < due + Duration::from_secs(1)
    }

    fn check_lead(&self, server: &ApiServer, must_lead: bool, what: &str) {
        let lead = self.state().lead.clone().filter(|_| must_lead);
        if lead.is_some_and(|lead| !lead.holds()) {
            self.0.world.tell(server.name(), &self.0.program, format!("{UNLED}: {what}"));
        }
    }

    /// A write that arrives after all, when nobody waits for it any more.
    async fn stray(
        self,
        server: ApiServer,
        request: Request<Body>,
        wait: Duration,
    ) -> Result<Response<Content>, BoxError> {
        let what = format!("{} {}", request.method(), request.uri().path());
        tokio::spawn(async move {
            sleep(wait).await;
            if self.0.world.outage(server.name()).is_none() {
                self.0.world.tell(server.name(), &self.0.program, format!("{AFTER_ALL}: {what}"));
                // Nobody hears what becomes of it.
                let _ = server.sends().oneshot(request).await;
            }
        });
        pending().await
    }

    fn written(&self, works: bool) {
        let mut state = self.state();
        state.writes += 1;
        state.work += u64::from(works);
        let breaks = works && state.breaks_after.is_some_and(|limit| state.work >= limit);
        drop(state);
        if breaks {
            self.cut();
        }
    }

    /// A watch's answer, as long as the wire holds and its server is reached, or until it is cut after so many frames.
    fn watched(&self, server: &ApiServer, content: Content, left: Option<(u64, bool)>, path: &str) -> Content {
        let State { seed, weather: Weather { stale, apart, .. }, .. } = *self.state();
        let its_own = apart.then(|| mixed(seed, &format!("{} {path}", server.name())));
        let chance = its_own.unwrap_or(seed);
        let started = Watched { wire: self.clone(), server: server.clone(), content, left, stale, chance, frames: 0 };
        let frames = stream::unfold(started, |mut watched| async move {
            let frame = watched.next().await?;
            Some((Ok::<_, Infallible>(frame), watched))
        });
        StreamBody::new(frames).map_err(never).boxed_unsync()
    }
}

/// A watch's answer on its way.
struct Watched {
    wire: Wire,
    server: ApiServer,
    content: Content,
    /// How many frames come until it is cut, and whether the last is torn.
    left: Option<(u64, bool)>,
    /// How many of a thousand frames are held up.
    stale: u64,
    /// What tells which of them.
    chance: u64,
    frames: u64,
}

impl Watched {
    async fn next(&mut self) -> Option<Frame<Bytes>> {
        let world = Arc::clone(&self.wire.0.world);
        let frame = tokio::select! {
            biased;
            () = self.wire.broken() => return pending().await,
            () = world.cut_off(self.server.name()) => return self.cut_off().await,
            frame = self.content.frame() => frame?.ok()?,
        };
        self.hold_up().await;
        match self.left {
            Some((0, false)) => None,
            Some((0, true)) => {
                let data = frame.into_data().ok()?;
                self.content = Full::default().map_err(never).boxed_unsync();
                self.left = None;
                Some(Frame::data(data.slice(..data.len() / 2)))
            }
            left => {
                self.left = left.map(|(after, torn)| (after - 1, torn));
                Some(frame)
            }
        }
    }

    async fn cut_off(&mut self) -> Option<Frame<Bytes>> {
        match self.wire.0.world.outage(self.server.name()) {
            Some(Outage::Silent) => pending().await,
            _ => None,
        }
    }

    async fn hold_up(&mut self) {
        if self.stale == 0 {
            return;
        }
        self.frames += 1;
        let mut random = Uids::seeded(self.chance ^ self.frames.wrapping_mul(FNV));
        if random.number() % 1000 < self.stale {
            sleep(Duration::from_millis(100 + random.number() % 8_000)).await;
        }
    }
}

/// Whether somebody asks for objects, not for what is served: whoever is known may ask for that.
fn is_about_objects(path: &str) -> bool {
    let mut parts = path.split('/').skip(1);
    let left = match parts.next() {
        // Version, and group and version.
        Some("api") => parts.skip(1).count(),
        Some("apis") => parts.skip(2).count(),
        _ => 0,
    };
    left > 0
}

/// Whether a deletion, or a write of a status, says which object it means, by its uid or version.
async fn is_guarded(request: &mut Request<Body>) -> Result<bool, BoxError> {
    let deletes = request.method() == Method::DELETE;
    let tells = request.method() != Method::GET && request.uri().path().ends_with("/status");
    if !deletes && !tells {
        return Ok(true);
    }
    let body = std::mem::replace(request.body_mut(), Body::empty()).collect().await?.to_bytes();
    *request.body_mut() = Body::from(body.to_vec());
    let said: Value = serde_json::from_slice(&body).unwrap_or_default();
    let guard = if deletes { &said["preconditions"] } else { &said["metadata"] };
    Ok(guard["uid"].is_string() || guard["resourceVersion"].is_string())
}

/// A seed for one of several purposes.
fn mixed(seed: u64, purpose: &str) -> u64 {
    purpose.bytes().fold(seed, |seed, byte| (seed ^ u64::from(byte)).wrapping_mul(FNV))
}

fn never(never: Infallible) -> BoxError {
    match never {}
}

fn refusal(code: u16, message: &str) -> Result<Response<Content>, BoxError> {
    let reason = match code {
        401 => "Unauthorized",
        403 => "Forbidden",
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
mod tests;
