//! What panics while a world is told. Programs survive that, and try again: in a world it is wrong even so.

use std::{
    cell::RefCell,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

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
            let _ = FIRST.try_with(|first| first.borrow_mut().get_or_insert_with(|| panic.to_string()).len());
            others(panic);
        }));
    });
    FIRST.take();
    let told = tell();
    (told, FIRST.take().map(|panic| format!("a program {panic}")))
}

/// The same of a world that may panic itself.
pub(crate) fn survived<T>(tell: impl FnOnce() -> T) -> Result<T, String> {
    let told = panic::catch_unwind(AssertUnwindSafe(tell));
    told.map_err(|_| FIRST.take().unwrap_or_else(|| "it panics".to_owned()))
}
