//! Time for expressions, or none.

use std::{sync::Arc, time::Duration};

use runtime_cel::expression::{Evaluator, Limits};

use super::World;

impl World {
    /// From now on no expression ends in time.
    pub(crate) fn run_out_of_time(&mut self) {
        self.asked_once = true;
        self.evaluator = Arc::new(Evaluator::with_limits(Limits { evaluate: Duration::ZERO, ..Limits::default() }));
    }

    /// From now on all do again.
    pub(crate) fn have_time(&mut self) {
        self.asked_once = false;
        self.evaluator = Arc::new(Evaluator::new());
    }
}
