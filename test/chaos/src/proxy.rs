//! `Proxy`: a way to an API server, on which bytes are lost, late or wrong.
//!
//! What runs through it is TLS: it knows nothing of requests, and what it changes breaks the connection.

use std::{
    net::{Ipv4Addr, SocketAddrV4},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use harness::{Dice, Port};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::sleep,
};

use crate::timeline::Timeline;

/// How much is read at once.
const CHUNK: usize = 16 << 10;

/// How the way is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weather {
    /// Of a thousand new connections so many have a flaw of their own. None: what is wrong with older ones is over, too.
    pub(crate) flaws: u64,
    pub(crate) way: Way,
    /// Connections that began before the last cut end.
    cut: u64,
    /// On those that began before the last loss nothing moves any more.
    lost: u64,
}

/// What comes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Open,
    /// Connections stay and are made; nothing moves.
    Held,
    /// Connections end, and new ones are refused.
    Shut,
}

/// What is wrong with one connection, in one direction.
#[derive(Debug, Clone, Copy)]
enum Flaw {
    /// It ends after so long.
    Cut(Duration),
    /// Each piece comes so late.
    Delay(Duration),
    /// After so many bytes nothing moves for so long.
    Stall(usize, Duration),
    /// It ends after so many bytes, in the middle of whatever that is.
    Truncate(usize),
    /// One bit of this byte is another.
    Corrupt(usize),
    /// After so many bytes nothing moves any more, and nobody is told: not even when all is well again.
    Lose(usize),
}

impl Flaw {
    fn draw(dice: &mut Dice) -> Self {
        // Some in the handshake, some in the first answers, some in a watch that has run for long.
        let reach = 1 << dice.between(6, 20);
        let bytes = usize::try_from(dice.between(1, reach)).unwrap_or_default();
        let millis = |dice: &mut Dice, most| Duration::from_millis(dice.between(1, most));
        match dice.below(6) {
            0 => Self::Cut(millis(dice, 20_000)),
            1 => Self::Delay(millis(dice, 400)),
            2 => Self::Stall(bytes, millis(dice, 20_000)),
            3 => Self::Truncate(bytes),
            4 => Self::Lose(bytes),
            _ => Self::Corrupt(bytes),
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Cut(_) => "connection cut",
            Self::Delay(_) => "connection delayed",
            Self::Stall(..) => "connection stalled",
            Self::Truncate(_) => "connection truncated",
            Self::Corrupt(_) => "connection corrupted",
            Self::Lose(_) => "connection lost without a word",
        }
    }
}

/// A way to one API server. Dropping it ends it and all that runs through it.
pub(crate) struct Proxy {
    name: String,
    port: Port,
    weather: watch::Sender<Weather>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Opens a way to an API server at this port of this machine.
    pub(crate) async fn open(name: &str, to: u16, dice: Dice, timeline: &Arc<Timeline>) -> anyhow::Result<Self> {
        let port = Port::reserve()?;
        let listener = TcpListener::bind(port.address()).await.context("the proxy cannot listen")?;
        let (weather, seen) = watch::channel(Weather { flaws: 0, way: Way::Open, cut: 0, lost: 0 });
        let line =
            Line { to: SocketAddrV4::new(Ipv4Addr::LOCALHOST, to), weather: seen, timeline: Arc::clone(timeline) };
        let task = tokio::spawn(accept(listener, line, dice));
        Ok(Self { name: name.to_owned(), port, weather, task })
    }

    /// For people.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Where programs find the API server.
    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.port.address())
    }

    /// From now on of a thousand connections so many have a flaw.
    pub(crate) fn set_flaws(&self, flaws: u64) {
        self.weather.send_modify(|weather| weather.flaws = flaws);
    }

    /// From now on it is so.
    pub(crate) fn set_way(&self, way: Way) {
        self.weather.send_modify(|weather| weather.way = way);
    }

    /// Ends all connections that there are.
    pub(crate) fn cut(&self) {
        self.weather.send_modify(|weather| weather.cut += 1);
    }

    /// Loses all connections that there are, and tells nobody: they stay, and nothing moves on them any more.
    pub(crate) fn lose(&self) {
        self.weather.send_modify(|weather| weather.lost += 1);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What all connections of a way have in common.
#[derive(Clone)]
struct Line {
    to: SocketAddrV4,
    weather: watch::Receiver<Weather>,
    timeline: Arc<Timeline>,
}

async fn accept(listener: TcpListener, line: Line, mut dice: Dice) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // Too many open files, say: the next may do.
                let Ok((stream, _)) = accepted else { continue };
                connections.spawn(carry(stream, line.clone(), dice.fork()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// One connection, from its beginning to its end.
async fn carry(client: TcpStream, mut line: Line, mut dice: Dice) {
    let began = *line.weather.borrow_and_update();
    if began.way == Way::Shut {
        return;
    }
    let Ok(server) = TcpStream::connect(line.to).await else { return };
    // As real links do: what is small is not kept back.
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let flaw = (dice.below(1000) < began.flaws).then(|| Flaw::draw(&mut dice));
    let upwards = dice.one_in(3);
    let of = |up: bool| flaw.filter(|_| up == upwards);
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let up = pump(from_client, to_server, Trouble::new(of(true), &line, began));
    let down = pump(from_server, to_client, Trouble::new(of(false), &line, began));
    let mut weather = line.weather.clone();
    let broken = weather.wait_for(|now| now.way == Way::Shut || now.cut != began.cut);
    tokio::select! {
        () = up => {}
        () = down => {}
        _ = broken => {}
    }
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut trouble: Trouble) {
    let mut chunk = vec![0; CHUNK];
    let life = trouble.life();
    let carried = async {
        while let Ok(read) = from.read(&mut chunk).await {
            if read == 0 {
                return;
            }
            let (passes, goes_on) = trouble.meet(&mut chunk[..read]).await;
            if to.write_all(&chunk[..passes]).await.is_err() || !goes_on {
                return;
            }
        }
    };
    tokio::select! {
        () = carried => {}
        () = life => {}
    }
}

/// What one direction of a connection meets.
struct Trouble {
    flaw: Option<Flaw>,
    began: Weather,
    passed: usize,
    line: Line,
    told: bool,
}

impl Trouble {
    fn new(flaw: Option<Flaw>, line: &Line, began: Weather) -> Self {
        Self { flaw, began, passed: 0, line: line.clone(), told: false }
    }

    /// Ends when the connection is to be cut; else never.
    fn life(&self) -> impl Future<Output = ()> + use<> {
        let (flaw, line) = (self.flaw, self.line.clone());
        async move {
            if let Some(Flaw::Cut(after)) = flaw {
                sleep(after).await;
                if line.weather.borrow().flaws > 0 {
                    return line.timeline.count(Flaw::Cut(after).kind());
                }
            }
            std::future::pending::<()>().await;
        }
    }

    /// Once for each connection.
    fn count(&mut self, flaw: Flaw) {
        if !std::mem::replace(&mut self.told, true) {
            self.line.timeline.count(flaw.kind());
        }
    }

    /// How much of this comes through, and whether anything comes after it.
    async fn meet(&mut self, chunk: &mut [u8]) -> (usize, bool) {
        // The way is open again, or the proxy is gone.
        let began = self.began;
        let _ = self.line.weather.wait_for(|now| now.way != Way::Held && now.lost == began.lost).await;
        let before = self.passed;
        self.passed += chunk.len();
        let here = |at: usize| (before..before + chunk.len()).contains(&at).then(|| at - before);
        let is_over = self.line.weather.borrow().flaws == 0;
        match self.flaw.filter(|_| !is_over) {
            Some(flaw @ Flaw::Lose(at)) if here(at).is_some() => {
                self.count(flaw);
                std::future::pending::<()>().await;
            }
            Some(flaw @ Flaw::Delay(by)) => {
                self.count(flaw);
                sleep(by).await;
            }
            Some(flaw @ Flaw::Stall(at, span)) if here(at).is_some() => {
                self.count(flaw);
                sleep(span).await;
            }
            Some(flaw @ Flaw::Truncate(at)) => {
                if let Some(at) = here(at) {
                    self.count(flaw);
                    return (at, false);
                }
            }
            Some(flaw @ Flaw::Corrupt(at)) => {
                if let Some(at) = here(at) {
                    self.count(flaw);
                    chunk[at] ^= 0x10;
                }
            }
            Some(Flaw::Stall(..) | Flaw::Lose(_) | Flaw::Cut(_)) | None => {}
        }
        (chunk.len(), true)
    }
}
