//! What panics while a world is told, or does not come to rest. Programs survive that, and try again: in a world it is wrong
//! even so.

use std::{
    cell::RefCell,
    fmt::{Debug, Write as _},
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

/// Where keys are worked on: what it tells as an error is that decisions on a key went in a circle.
const WORKER: &str = "runtime_engine::worker";

/// By what that is known.
pub(crate) const RESTLESS: &str = "decisions in a row";

thread_local! {
    /// The first of this thread's since it was last asked for.
    static FIRST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// What `tell` does, and the first panic meanwhile that somebody else has caught. A world has one thread.
pub(crate) fn heard<T>(tell: impl FnOnce() -> T) -> (T, Option<String>) {
    static LISTEN: Once = Once::new();
    LISTEN.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            // It may come while the thread ends.
            let _ = FIRST.try_with(|first| {
                // A panic is told before whatever did not come to rest: that is excused in some worlds.
                let mut first = first.borrow_mut();
                if first.as_ref().is_none_or(|held| held.contains(RESTLESS)) {
                    *first = Some(panic.to_string());
                }
            });
            others(panic);
        }));
        tracing::subscriber::set_global_default(Restless).expect("nobody else listens");
    });
    FIRST.take();
    let told = tell();
    (told, FIRST.take().map(|panic| format!("a program {panic}")))
}

/// Listens for keys that do not come to rest.
struct Restless;

impl Subscriber for Restless {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::ERROR && metadata.target() == WORKER
    }

    fn event(&self, event: &Event<'_>) {
        let mut told = Words(String::from("says:"));
        event.record(&mut told);
        let _ = FIRST.try_with(|first| first.borrow_mut().get_or_insert(told.0).len());
    }

    fn new_span(&self, _span: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _span: &span::Id, _values: &span::Record<'_>) {}

    fn record_follows_from(&self, _span: &span::Id, _follows: &span::Id) {}

    fn enter(&self, _span: &span::Id) {}

    fn exit(&self, _span: &span::Id) {}
}

/// What an event says, all fields in a row.
struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, _field: &Field, value: &dyn Debug) {
        // A String takes whatever comes.
        let _ = write!(self.0, " {value:?}");
    }
}

/// The same of a world that may panic itself.
pub(crate) fn survived<T>(tell: impl FnOnce() -> T) -> Result<T, String> {
    let told = panic::catch_unwind(AssertUnwindSafe(tell));
    told.map_err(|_| FIRST.take().unwrap_or_else(|| "it panics".to_owned()))
}
