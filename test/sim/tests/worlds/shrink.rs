//! Cuts a world that goes wrong down to what it takes.

use crate::{
    plan::Plan,
    story::{Told, tell},
};

/// A story that goes wrong, and why.
pub(crate) struct Failure {
    pub(crate) told: Told,
    pub(crate) why: String,
}

/// Tells a plan and its calm twin. `Some`: it goes wrong.
pub(crate) fn try_out(plan: &Plan) -> Option<Failure> {
    let calm = tell(&plan.calm());
    if let Err(why) = calm.check(&calm) {
        return Some(Failure { told: calm, why });
    }
    let told = tell(plan);
    told.check(&calm).err().map(|why| Failure { told, why })
}

/// The same failure with fewer acts and faults, as far as one by one can be left out.
pub(crate) fn shrink(mut failure: Failure) -> Failure {
    loop {
        let plan = failure.told.plan.clone();
        let smaller = plan.parts().into_iter().find_map(|part| try_out(&plan.without([&*part])));
        match smaller {
            Some(smaller) => failure = smaller,
            None => return failure,
        }
    }
}

impl Failure {
    /// For people: what happens, why that is wrong, and how to see it once more.
    pub(crate) fn text(&self) -> String {
        let Self { told, why } = self;
        format!("{}\n\nseed {}: {why}\nthe story of it: {}", told.text(), told.plan.seed, told.plan.command())
    }
}
