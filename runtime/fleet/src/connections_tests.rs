use std::convert::Infallible;

use futures::{StreamExt as _, future::join_all};
use http::Uri;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    rt,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio_util::sync::CancellationToken;

use super::*;

/// Our end of a connection.
struct Pipe {
    io: TokioIo<DuplexStream>,
    speaks: Speaks,
}

/// What a server speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Speaks {
    #[default]
    Http2,
    Http1,
}

impl Connection for Pipe {
    fn connected(&self) -> Connected {
        match self.speaks {
            Speaks::Http2 => Connected::new().negotiated_h2(),
            Speaks::Http1 => Connected::new(),
        }
    }
}

impl rt::Read for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: rt::ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, to)
    }
}

impl rt::Write for Pipe {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// An API server: what it was asked, and over how many connections.
#[derive(Clone, Default)]
struct Server {
    connections: Arc<AtomicU32>,
    closed: Arc<AtomicU32>,
    silent: CancellationToken,
    speaks: Speaks,
    /// How many connections come to nothing before there is one.
    refused: u32,
    /// How many connections end before their second request, and why: a code of RFC 9113, 7.
    ending: (u32, u32),
}

/// How long it takes to connect.
const HANDSHAKE: Duration = Duration::from_millis(1);

type Answer = UnsyncBoxBody<Bytes, Infallible>;

/// A server that answers the first request of a connection, and says that it has not looked at the second.
async fn end_before_the_second(mut io: DuplexStream, reason: u32) -> std::io::Result<()> {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    // `:status: 200`, and nothing after it.
    const ANSWER: [u8; 10] = [0, 0, 1, 1, 0x05, 0, 0, 0, 1, 0x88];
    const PREFACE: usize = 24;
    io.write_all(&SETTINGS).await?;
    io.read_exact(&mut [0; PREFACE]).await?;
    let mut requests = 0;
    while requests < 2 {
        let mut head = [0; 9];
        io.read_exact(&mut head).await?;
        let length = usize::from(head[1]) << 8 | usize::from(head[2]);
        io.read_exact(&mut vec![0; length]).await?;
        requests += u32::from(head[3] == 1);
    }
    io.write_all(&[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1]).await?;
    io.write_all(&reason.to_be_bytes()).await?;
    io.write_all(&ANSWER).await
}

impl Server {
    async fn answer(self, path: String) -> Result<Response<Answer>, Infallible> {
        let chunk = || Ok(Frame::data(Bytes::from(vec![b' '; 64 << 10])));
        Ok(Response::new(match &*path {
            "/endless" => StreamBody::new(futures::stream::repeat_with(chunk)).boxed_unsync(),
            "/watch" => StreamBody::new(futures::stream::pending()).boxed_unsync(),
            "/stalled" => {
                let begun = futures::stream::iter([Ok(Frame::data(Bytes::from_static(b"[")))]);
                StreamBody::new(begun.chain(futures::stream::pending())).boxed_unsync()
            }
            path if path.ends_with("/never") => std::future::pending().await,
            _ => Full::new(Bytes::from_static(b"ok")).boxed_unsync(),
        }))
    }

    fn connect(&self) -> Pipe {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (ending, reason) = self.ending;
        if self.connections.fetch_add(1, Ordering::Relaxed) < ending {
            tokio::spawn(end_before_the_second(theirs, reason));
            return Pipe { io: TokioIo::new(ours), speaks: self.speaks };
        }
        let server = self.clone();
        tokio::spawn(async move {
            let serve = service_fn(|request: Request<Incoming>| server.clone().answer(request.uri().path().to_owned()));
            let theirs = TokioIo::new(theirs);
            let serving: Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>> = match server.speaks {
                Speaks::Http2 => Box::pin(http2::Builder::new(TokioExecutor::new()).serve_connection(theirs, serve)),
                Speaks::Http1 => Box::pin(http1::Builder::new().serve_connection(theirs, serve)),
            };
            tokio::select! {
                _ = serving => {
                    server.closed.fetch_add(1, Ordering::Relaxed);
                }
                // It holds the connection, and says nothing.
                () = server.silent.cancelled() => std::future::pending().await,
            }
        });
        Pipe { io: TokioIo::new(ours), speaks: self.speaks }
    }

    fn client(&self) -> Connections<impl Connect + Clone + Send + Sync + 'static> {
        let server = self.clone();
        Connections::new(tower::service_fn(move |_: Uri| {
            let server = server.clone();
            Box::pin(async move {
                tokio::time::sleep(HANDSHAKE).await;
                let pipe = server.connect();
                let is_refused = server.connections() <= server.refused;
                if is_refused { Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused)) } else { Ok(pipe) }
            })
        }))
    }

    fn open(&self) -> u32 {
        self.connections() - self.closed.load(Ordering::Relaxed)
    }

    fn connections(&self) -> u32 {
        self.connections.load(Ordering::Relaxed)
    }
}

fn get(path: &str) -> Request<Body> {
    Request::get(format!("http://server{path}")).body(Body::empty()).unwrap()
}

async fn ok<C: Connect + Clone + Send + Sync + 'static>(connections: &mut Connections<C>) {
    let answer = async { connections.call(get("/object")).await.unwrap().into_body().collect().await.unwrap() };
    let answer = tokio::time::timeout(Duration::from_secs(5), answer).await.expect("it is answered");
    assert_eq!(answer.to_bytes(), "ok");
}

#[tokio::test(start_paused = true)]
async fn answers_that_nobody_reads_hold_up_no_other() {
    let server = Server::default();
    let mut client = server.client();
    let mut unread = Vec::new();
    for _ in 1..SHARE {
        unread.push(client.call(get("/endless")).await.unwrap());
    }
    ok(&mut client).await;
    assert_eq!(server.connections(), 1);
    // Whoever reads on gets more than the window holds.
    let mut read = 0;
    let mut body = unread.remove(0).into_body();
    while read < 3 * WINDOW as usize {
        read += body.frame().await.unwrap().unwrap().into_data().unwrap().len();
    }
}

/// What was sent of it, and is read by nobody any more, must not be missing from the room that all have together.
#[tokio::test(start_paused = true)]
async fn answers_that_are_left_in_the_middle_leave_room_for_others() {
    let server = Server::default();
    let mut client = server.client();
    let begun = 3 * SHARE;
    for _ in 0..begun {
        let mut body = client.call(get("/endless")).await.unwrap().into_body();
        body.frame().await.unwrap().unwrap();
    }
    let mut read = 0;
    let mut body = client.call(get("/endless")).await.unwrap().into_body();
    while read < 3 * WINDOW as usize {
        read += body.frame().await.unwrap().unwrap().into_data().unwrap().len();
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn so_many_watches_share_a_connection_and_no_request_waits_for_one_to_end() {
    let server = Server::default();
    let mut client = server.client();
    let mut watches = Vec::new();
    for _ in 0..SHARE {
        watches.push(client.call(get("/watch")).await.unwrap());
    }
    assert_eq!(server.connections(), 1);
    ok(&mut client).await;
    assert_eq!(server.connections(), 2);
    watches.pop();
    watches.push(client.call(get("/watch")).await.unwrap());
    ok(&mut client).await;
    assert_eq!(server.connections(), 2, "there is room on both");
}

/// Asks for so many at once. How many are answered.
async fn at_once<C: Connect + Clone + Send + Sync + 'static>(connections: &mut Connections<C>, count: usize) -> usize {
    let asked: Vec<_> = (0..count).map(|_| connections.call(get("/object"))).collect();
    let answers = tokio::time::timeout(Duration::from_secs(5), join_all(asked)).await.expect("all are answered");
    answers.iter().filter(|answer| answer.is_ok()).count()
}

#[tokio::test(start_paused = true)]
async fn those_that_come_at_once_share_the_connection_that_the_first_opens() {
    let server = Server::default();
    let mut client = server.client();
    let before = Instant::now();
    assert_eq!(at_once(&mut client, 20).await, 20);
    assert!(before.elapsed() < 2 * HANDSHAKE, "they hear of it: {:?}", before.elapsed());
    assert_eq!(server.connections(), 1);
    let watches: Vec<_> = join_all((0..20).map(|_| client.call(get("/watch")))).await;
    assert_eq!(at_once(&mut client, 20).await, 20, "none waits for an answer");
    assert_eq!(server.connections(), 1);
    drop(watches);
}

#[tokio::test(start_paused = true)]
async fn what_a_server_has_not_looked_at_is_sent_again_and_nothing_else_is() {
    const NO_ERROR: u32 = 0;
    const ENHANCE_YOUR_CALM: u32 = 11;
    for (ending, answered, connections) in [
        ((1, NO_ERROR), 2, 2),
        // It may have been done in part.
        ((1, ENHANCE_YOUR_CALM), 1, 1),
    ] {
        let server = Server { ending, ..Server::default() };
        assert_eq!(at_once(&mut server.client(), 2).await, answered, "{ending:?}");
        assert_eq!(server.connections(), connections, "{ending:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_looks_at_nothing_is_asked_so_often() {
    const NO_ERROR: u32 = 0;
    let server = Server { ending: (u32::MAX, NO_ERROR), ..Server::default() };
    // Of those that come at once, each connection answers one.
    assert_eq!(at_once(&mut server.client(), 20).await, SENDINGS as usize);
    assert_eq!(server.connections(), SENDINGS);
}

#[tokio::test(start_paused = true)]
async fn where_each_needs_a_connection_of_its_own_none_waits_for_another() {
    let server = Server { speaks: Speaks::Http1, ..Server::default() };
    let mut client = server.client();
    let watches: Vec<_> = join_all((0..20).map(|_| client.call(get("/watch")))).await;
    assert!(watches.iter().all(Result::is_ok));
    let before = Instant::now();
    assert_eq!(at_once(&mut client, 20).await, 20);
    assert!(before.elapsed() < 2 * HANDSHAKE, "{:?}", before.elapsed());
    assert_eq!(server.connections(), 40);
}

#[tokio::test(start_paused = true)]
async fn where_the_first_cannot_open_one_the_others_try() {
    let server = Server { refused: 3, ..Server::default() };
    let mut client = server.client();
    assert_eq!(at_once(&mut client, 20).await, 17);
    let opened = server.connections();
    assert_eq!(at_once(&mut client, 20).await, 20);
    assert_eq!(server.connections(), opened);
}

#[tokio::test(start_paused = true)]
async fn whoever_leaves_before_there_is_a_connection_leaves_it_to_the_next() {
    let server = Server::default();
    let mut client = server.client();
    let (first, second) = (client.call(get("/object")), client.call(get("/object")));
    let left = tokio::time::timeout(HANDSHAKE / 2, first).await;
    assert!(left.is_err());
    let answer = tokio::time::timeout(Duration::from_secs(5), second).await;
    assert!(answer.expect("it is answered").is_ok());
}

/// A future that is polled once and then held opens nothing, and ends nothing.
#[tokio::test(start_paused = true)]
async fn whoever_opens_none_is_waited_for_a_while_and_once() {
    let server = Server::default();
    let mut client = server.client();
    let mut parked = client.call(get("/object"));
    assert!(futures::poll!(&mut parked).is_pending());
    let before = Instant::now();
    assert_eq!(at_once(&mut client, 20).await, 20);
    let waited = before.elapsed();
    assert!(waited >= OPENING && waited < OPENING + 2 * HANDSHAKE, "{waited:?}");
    assert_eq!(at_once(&mut client, 20).await, 20);
    assert!(before.elapsed() < OPENING + 3 * HANDSHAKE, "{:?}", before.elapsed());
    drop(parked);
}

#[tokio::test(start_paused = true)]
async fn whoever_leaves_before_anything_was_sent_says_nothing_of_the_connection() {
    let server = Server::default();
    let mut client = server.client();
    let first = client.call(get("/watch"));
    let waiting = tokio::time::timeout(HANDSHAKE / 2, client.call(get("/object")));
    let (watch, left) = tokio::join!(first, waiting);
    assert!(left.is_err());
    ok(&mut client).await;
    assert_eq!(server.connections(), 1);
    drop(watch);
}

#[tokio::test(start_paused = true)]
async fn reviews_go_where_reads_do_and_are_slow_where_whoever_judges_is() {
    let server = Server::default();
    let mut client = server.client();
    let post = |path| Request::post(format!("http://server{path}")).body(Body::empty()).unwrap();
    ok(&mut client).await;
    client.call(post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")).await.unwrap();
    client.call(post("/clusters/homer/apis/authentication.k8s.io/v1/tokenreviews")).await.unwrap();
    let slow = client.call(post("/apis/authentication.k8s.io/never"));
    assert!(tokio::time::timeout(Duration::from_secs(10), slow).await.is_err());
    ok(&mut client).await;
    assert_eq!(server.connections(), 1);
    client.call(post("/apis/example.org/v1/objects")).await.unwrap();
    assert_eq!(server.connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn writes_go_over_a_connection_of_their_own_that_is_closed_when_nothing_is_written() {
    let server = Server::default();
    let mut client = server.client();
    let write = |method| Request::builder().method(method).uri("http://server/object").body(Body::empty()).unwrap();
    let watch = client.call(get("/watch")).await.unwrap();
    for method in [Method::PATCH, Method::POST, Method::DELETE, Method::PUT] {
        client.call(write(method)).await.unwrap().into_body().collect().await.unwrap();
    }
    ok(&mut client).await;
    assert_eq!((server.connections(), server.open()), (2, 2));
    tokio::time::sleep(3 * UNUSED).await;
    assert_eq!((server.connections(), server.open()), (2, 1), "the watch goes on");
    client.call(write(Method::PATCH)).await.unwrap();
    ok(&mut client).await;
    assert_eq!((server.connections(), server.open()), (3, 2));
    drop(watch);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_given_up_is_followed_by_others_over_another_connection() {
    let server = Server::default();
    let mut client = server.client();
    let watch = client.call(get("/watch")).await.unwrap();
    let given_up = tokio::time::timeout(Duration::from_secs(1), client.call(get("/never"))).await;
    assert!(given_up.is_err());
    ok(&mut client).await;
    ok(&mut client).await;
    assert_eq!(server.connections(), 2);
    drop(watch);
    assert_eq!(client.lines.lock().unwrap().len(), 2);
    ok(&mut client).await;
    assert_eq!(client.lines.lock().unwrap().len(), 1, "nothing goes on there any more");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_ends_is_followed_by_others_over_another_connection() {
    let server = Server::default();
    let mut client = server.client();
    let mut read_for = async |path: &str, span: Duration| {
        let body = client.call(get(path)).await.unwrap().into_body();
        assert!(tokio::time::timeout(span, body.collect()).await.is_err(), "it ends");
        ok(&mut client).await;
        server.connections()
    };
    assert_eq!(read_for("/stalled", STALLED / 2).await, 1, "its reader had no patience");
    assert_eq!(read_for("/stalled", STALLED).await, 2);
    assert_eq!(read_for("/watch?watch=1", SILENT / 2).await, 2, "nothing happened");
    assert_eq!(read_for("/watch?watch=1", SILENT).await, 3);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_answers_no_pings_is_dead() {
    let server = Server::default();
    let mut client = server.client();
    let watch = client.call(get("/watch")).await.unwrap();
    server.silent.cancel();
    let ended = tokio::time::timeout(2 * (PING + ANSWER), watch.into_body().collect()).await;
    assert!(ended.expect("the watch ends").is_err());
}
