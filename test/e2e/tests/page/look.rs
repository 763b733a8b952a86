//! `Look`: one look at the page with `test/e2e/page/look.mjs`, and what it takes on this machine.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{ChildStdin, Command, Stdio},
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use e2e::DEADLINE;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::timeout,
};

/// The longest that a look takes: many facts are waited for in it, each for [`DEADLINE`] at the most.
const LONGEST: Duration = Duration::from_mins(10);

/// Exit code of what says that this machine cannot run it.
const CANNOT: i32 = 77;

/// Where the scripts are.
fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("page")
}

/// Where what was seen goes: `target/page`.
pub(crate) fn artifacts() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("page")
}

/// Where what drives Chromium is.
fn driver() -> PathBuf {
    artifacts().join("driver")
}

/// Brings what it takes. `Err`: this machine cannot run it, and why.
pub(crate) async fn install() -> Result<(), String> {
    let install = scripts().join("install.sh");
    let output = tokio::process::Command::new(&install).arg(driver()).stdin(Stdio::null()).output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => Ok(()),
        Some(CANNOT) => Err(said.lines().last().unwrap_or_default().to_owned()),
        _ => panic!("{}: {}\n{said}", install.display(), output.status),
    }
}

/// What a look tells.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Told {
    /// What the way has to tell meanwhile.
    Says(String),
    /// All that was found, at its end.
    Found(Vec<String>),
}

#[derive(Deserialize)]
struct Line {
    id: u64,
    #[serde(flatten)]
    told: Told,
}

/// The one browser of this program, which ends with it: its stdin ends then.
struct Eyes {
    stdin: Mutex<ChildStdin>,
    /// Who is told, by the number of the look. `None`: it has ended.
    looks: Arc<Mutex<Option<Looks>>>,
}

type Looks = HashMap<u64, UnboundedSender<Told>>;

impl Eyes {
    fn open() -> Self {
        let mut process = Command::new("node")
            .arg(scripts().join("look.mjs"))
            .env("PAGE_MODULES", driver())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let looks = Arc::new(Mutex::new(Some(Looks::new())));
        let told = Arc::clone(&looks);
        // Tests have a runtime each; this outlives them.
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(Line { id, told: news }) = serde_json::from_str(&line) else {
                    eprintln!("look.mjs said {line}");
                    break;
                };
                if let Some(look) = told.lock().unwrap().as_ref().and_then(|looks| looks.get(&id)) {
                    let _ = look.send(news);
                }
            }
            // Whoever still waits hears that nothing comes.
            *told.lock().unwrap() = None;
            let _ = process.wait();
        });
        Self { stdin: Mutex::new(stdin), looks }
    }

    /// Whether it was heard.
    fn say(&self, line: &Value) -> bool {
        writeln!(self.stdin.lock().unwrap(), "{line}").is_ok()
    }

    fn look(&self, id: u64, way: &str, words: &Value) -> UnboundedReceiver<Told> {
        let (tell, told) = unbounded_channel();
        let waits = self.looks.lock().unwrap().as_mut().map(|looks| looks.insert(id, tell)).is_some();
        assert!(waits && self.say(&json!({"id": id, "way": way, "words": words})), "the browser has ended");
        told
    }

    /// Nobody waits for it any more.
    fn leave(&self, id: u64) {
        self.looks.lock().unwrap().as_mut().map(|looks| looks.remove(&id));
        self.say(&json!({"id": id}));
    }
}

static EYES: LazyLock<Eyes> = LazyLock::new(Eyes::open);

/// See the module. Dropping it ends it.
pub(crate) struct Look {
    id: u64,
    way: &'static str,
    told: UnboundedReceiver<Told>,
}

impl Drop for Look {
    fn drop(&mut self) {
        EYES.leave(self.id);
    }
}

impl Look {
    /// Begins to look at the page at `url` in this way.
    pub(crate) fn begin(way: &'static str, url: &str, mut words: Value) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        words["url"] = json!(url);
        words["deadline"] = json!(u64::try_from(DEADLINE.as_millis()).unwrap());
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { id, way, told: EYES.look(id, way, &words) }
    }

    async fn next(&mut self) -> Option<Told> {
        let told = timeout(LONGEST, self.told.recv()).await;
        told.unwrap_or_else(|_| panic!("{}: nothing is told any more", self.way))
    }

    /// Waits until it says this word, and nothing else before.
    pub(crate) async fn hears(&mut self, word: &str) {
        let told = self.next().await;
        assert_eq!(told, Some(Told::Says(word.to_owned())), "{}", self.way);
    }

    /// Waits for its end. There must be no finding.
    pub(crate) async fn found_nothing(mut self) {
        match self.next().await {
            Some(Told::Found(findings)) => assert!(findings.is_empty(), "{}: {}", self.way, findings.join("\n")),
            told => panic!("{}: {told:?}", self.way),
        }
    }
}
