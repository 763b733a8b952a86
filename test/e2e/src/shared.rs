//! `Shared`: one world for all tests of a binary, started by the first.

use std::{
    panic::{AssertUnwindSafe, resume_unwind},
    sync::LazyLock,
};

use futures::{FutureExt as _, future::LocalBoxFuture};
use tokio::{
    runtime::{Builder, Runtime},
    sync::OnceCell,
};

use crate::World;

/// A world that is started once and lives as long as the test binary. It has a runtime of its own, to which the
/// clients of the world belong: tests are plain `#[test]` functions that call [`Shared::run`].
pub struct Shared<W: 'static = World> {
    runtime: LazyLock<Runtime>,
    world: OnceCell<W>,
    start: fn() -> LocalBoxFuture<'static, W>,
}

impl<W> Shared<W> {
    /// A world that `start` makes.
    pub const fn new(start: fn() -> LocalBoxFuture<'static, W>) -> Self {
        let runtime = || Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self { runtime: LazyLock::new(runtime), world: OnceCell::const_new(), start }
    }

    /// Runs one test in the world.
    pub fn run(&'static self, test: impl AsyncFnOnce(&'static W)) {
        self.runtime.block_on(async {
            let world = self.world.get_or_init(self.start).await;
            if let Err(failure) = AssertUnwindSafe(test(world)).catch_unwind().await {
                // The world is still there, and gone before anybody reads of this.
                eprintln!("{}", harness::last_words());
                resume_unwind(failure);
            }
        });
    }
}
