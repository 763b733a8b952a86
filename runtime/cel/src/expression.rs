//! CEL expressions, from strangers: compiled once, evaluated within bounds, closed on every error.
//!
//! The interpreter itself has no limits: a long chain overflows its stack, nested loops take minutes, doubling strings
//! take all memory. So an expression passes five gates, each enough for the plain cases of the next:
//!
//! 1. `shape`: size, nesting, operators and loops are counted in the text, before the parser recurses over it.
//! 2. `pool`: parser and interpreter run on threads of their own with a large stack, of which each owner has a share; a
//!    panic is an error, a thread that does not come back is left behind, and counts for its owner until it does.
//! 3. `rewrite`: the parsed expression is given counters at every loop and at everything that can grow.
//! 4. `meter`: those counters end an evaluation that takes too many steps, or makes too large a value, at the same point
//!    on every machine. `matches` is replaced by one with bounds; the functions that people know from Kubernetes
//!    (`quantity`, `split`, `sum`, …) count for themselves. So does the way from a result to JSON.
//! 5. [`Program`]: one that ran out of time again and again is not run for a while.
//!
//! Time is only a bound here, never an input: the same expression over the same values has the same answer, or none
//! for want of time. It is the thread's own processor time: a machine that is busy with others takes nothing from it.

mod argument;
mod counters;
mod environment;
mod error;
pub(crate) mod json;
mod limits;
mod list;
mod measure;
pub(crate) mod meter;
pub(crate) mod patterns;
pub(crate) mod pool;
mod quantity;
mod rewrite;
pub(crate) mod shape;
pub(crate) mod strikes;
mod text;
mod view;

use std::{fmt, sync::Arc, time::Duration};

use cel_interpreter::{
    Context, Env, ExecutionError, Value as CelValue,
    common::{types::CelBool, value::Val},
    parser::Expression,
};
use serde_json::Value;

use pool::{Pool, PoolError};
use strikes::Strikes;

use crate::processor;

pub use error::ExpressionError;
pub use limits::{Limits, Shape, Values};
pub use shape::closing_brace;

/// How much longer than their processor time the work of a thread is waited for, on a machine that has others to serve.
const PATIENCE: u32 = 20;

/// The same in time, at the least and at the most.
const WAIT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5));

/// A compiled expression. Cheap to clone; the clones share their record of running out of time.
#[derive(Clone)]
pub struct Program {
    inner: Arc<Inner>,
}

struct Inner {
    source: String,
    /// Whose it is: each owner has a share of the threads.
    owner: Arc<str>,
    expression: Expression,
    variables: Vec<String>,
    strikes: Strikes,
}

impl Program {
    /// The text it was compiled from.
    pub fn source(&self) -> &str {
        &self.inner.source
    }

    /// Names it takes from outside, sorted: `self`, not the variables of its loops nor the names of types.
    pub fn variables(&self) -> &[String] {
        &self.inner.variables
    }

    /// Where a name that it takes from outside stands first: `line 1, column 7`.
    pub fn place_of(&self, name: &str) -> String {
        let (line, column) = shape::place_of(&self.inner.source, name, false).unwrap_or((1, 1));
        format!("line {line}, column {column}")
    }

    /// For how many parties it has run out of time again and again.
    pub fn slow_for(&self) -> usize {
        self.inner.strikes.parties()
    }

    fn quarantined(&self) -> ExpressionError {
        ExpressionError::Quarantined { expression: self.shown() }
    }

    fn shown(&self) -> String {
        shown(&self.inner.source)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Program").field(&self.inner.source).finish()
    }
}

/// Compiles and evaluates. One serves the whole process; it may be shared between threads.
pub struct Evaluator {
    pool: Pool,
    env: Arc<Env>,
    limits: Limits,
}

impl fmt::Debug for Evaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evaluator").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Default for Evaluator {
    fn default() -> Self {
        Self::new()
    }
}

impl Evaluator {
    /// An evaluator with the default limits. Its threads start when they are needed and end with it.
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// An evaluator with other limits.
    pub fn with_limits(limits: Limits) -> Self {
        Self { pool: Pool::new(), env: Arc::new(environment::environment()), limits }
    }

    /// One that works on the thread that asks, and ends by steps alone. For a simulator, whose runs must not depend on how busy
    /// the machine is; a stranger's expression may keep the thread for minutes, and needs a large stack to be parsed on.
    pub fn inline(limits: Limits) -> Self {
        Self { pool: Pool::inline(), env: Arc::new(environment::environment()), limits: limits.steps_only() }
    }

    /// Compiles an expression of the platform's own. Blocks for microseconds as a rule, for [`Limits::compile`] of
    /// processor time at the most.
    pub fn compile(&self, source: &str) -> Result<Program, ExpressionError> {
        self.compile_for("", source)
    }

    /// Compiles an expression of this owner, who has a share of the threads for compiling and evaluating all of his.
    pub fn compile_for(&self, owner: &str, source: &str) -> Result<Program, ExpressionError> {
        shape::check(source, &self.limits.shape)?;
        let env = Arc::clone(&self.env);
        let text = source.to_owned();
        let owner: Arc<str> = owner.into();
        let (whose, limit) = (Arc::clone(&owner), self.limits.compile);
        let work = move || {
            let begun = processor::time();
            let program = env.compile(&text).map_err(|errors| syntax_error(&text, &errors.errors))?;
            let mut expression = program.expression().clone();
            let variables = rewrite::rewrite(&mut expression, &env).map_err(|flaw| flawed(&text, &flaw))?;
            if processor::time().saturating_sub(begun) > limit {
                return Err(timed_out(limit, &text));
            }
            Ok(Inner { source: text, owner: whose, expression, variables, strikes: Strikes::default() })
        };
        match self.pool.run(&owner, limit, patience(limit), work) {
            Ok(inner) => inner.map(|inner| Program { inner: Arc::new(inner) }),
            Err(error) => Err(pool_error(error, shown(source))),
        }
    }

    /// Evaluates an expression over these variables; anything but true or false is an error, and an error means no.
    ///
    /// Blocks for microseconds as a rule, for [`Limits::evaluate`] of processor time at the most.
    pub fn evaluate_bool(&self, program: &Program, vars: &[(&str, Arc<Value>)]) -> Result<bool, ExpressionError> {
        self.run("", program, vars, self.limits.steps, truth).0
    }

    /// The same for a party whose object it is about: where it runs out of time again and again, it rests for that party
    /// only. With so many steps at the most, from which those that it takes are taken; what ran out of time takes none: how
    /// far it came is chance.
    pub fn evaluate_bool_for(
        &self,
        party: &str,
        steps: &mut u64,
        program: &Program,
        vars: &[(&str, Arc<Value>)],
    ) -> Result<bool, ExpressionError> {
        let (result, taken) = self.run(party, program, vars, self.limits.steps.min(*steps), truth);
        *steps = steps.saturating_sub(taken);
        result
    }

    /// Evaluates an expression over these variables to a value, of at most [`Values::json`] bytes of JSON. Timestamps
    /// and durations become text as `string()` has it, bytes become base64.
    ///
    /// Blocks as [`Evaluator::evaluate_bool`] does.
    pub fn evaluate(&self, program: &Program, vars: &[(&str, Arc<Value>)]) -> Result<Value, ExpressionError> {
        self.run("", program, vars, self.limits.steps, json).0
    }

    fn run<T: Send + 'static>(
        &self,
        party: &str,
        program: &Program,
        vars: &[(&str, Arc<Value>)],
        steps: u64,
        read: Read<T>,
    ) -> (Result<T, ExpressionError>, u64) {
        if program.inner.strikes.rests(party) {
            return (Err(program.quarantined()), 0);
        }
        let vars: Vec<(String, Arc<Value>)> =
            vars.iter().map(|(name, value)| ((*name).to_owned(), Arc::clone(value))).collect();
        let (env, shared, limits) = (Arc::clone(&self.env), program.clone(), Limits { steps, ..self.limits });
        let (limit, party) = (limits.evaluate, party.to_owned());
        // Whether it was in time is noted by the thread itself: whoever has waited for it knows only that it was not here.
        let work = move || {
            let (result, taken) = evaluate(&env, &shared, &vars, limits, read);
            shared.inner.strikes.ended(&party, !matches!(result, Err(ExpressionError::TimedOut { .. })));
            (result, taken)
        };
        match self.pool.run(&program.inner.owner, limit, patience(limit), work) {
            Ok(ended) => ended,
            Err(error) => (Err(pool_error(error, program.shown())), 0),
        }
    }
}

/// How long a thread's work of so much processor time is waited for.
pub(crate) fn patience(limit: Duration) -> Duration {
    let (least, most) = WAIT;
    limit.saturating_mul(PATIENCE).clamp(least, most).max(limit)
}

/// Takes the result over, while the steps are still counted.
type Read<T> = fn(&dyn Val, &Env, &Program) -> Result<T, ExpressionError>;

/// Runs on a thread of the pool. Returns how many steps it took as well.
fn evaluate<T>(
    env: &Arc<Env>,
    program: &Program,
    vars: &[(String, Arc<Value>)],
    limits: Limits,
    read: Read<T>,
) -> (Result<T, ExpressionError>, u64) {
    meter::start(&limits);
    let mut context = Context::with_env(Arc::clone(env));
    for (name, value) in vars {
        context.add_variable_as_val(name.as_str(), view::of(value));
    }
    let result = CelValue::resolve_val(&program.inner.expression, &context)
        .map_err(|error| failed(&program.inner.source, described(&error)))
        .and_then(|value| read(&*value, env, program));
    let end = meter::end(limits.steps);
    if end.late {
        return (Err(timed_out(limits.evaluate, &program.inner.source)), 0);
    }
    // First: `too costly || true` is true to the interpreter.
    match end.exceeded {
        Some(what) => (Err(ExpressionError::TooCostly { what, expression: program.shown() }), end.steps),
        None => (result, end.steps),
    }
}

fn truth(value: &dyn Val, _: &Env, program: &Program) -> Result<bool, ExpressionError> {
    value.downcast_ref::<CelBool>().map(|value| *value.inner()).ok_or_else(|| ExpressionError::NotBool {
        got: value.get_type().name().to_owned(),
        expression: program.shown(),
    })
}

fn json(value: &dyn Val, env: &Env, program: &Program) -> Result<Value, ExpressionError> {
    json::of(value, env).map_err(|got| ExpressionError::NotJson { got, expression: program.shown() })
}

/// The interpreter's words, with a hint where they alone do not help.
fn described(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => {
            format!("no field {:?} (ask with has() first)", shown(key))
        }
        ExecutionError::UndeclaredReference(name) => format!("unknown name {:?}", shown(name)),
        // These print whole values otherwise.
        ExecutionError::ValuesNotComparable(..) => "two values that cannot be compared".to_owned(),
        ExecutionError::UnsupportedBinaryOperator(operator, ..) => {
            format!("{operator:?} does not take these two values")
        }
        ExecutionError::UnsupportedIndex(..) => "a value that is no index".to_owned(),
        other => shown(&other.to_string()),
    }
}

pub(crate) fn syntax_error(source: &str, errors: &[cel_interpreter::ParseError]) -> ExpressionError {
    let (line, column, what) = errors.first().map_or((0, 0, "cannot be parsed".to_owned()), |error| {
        let place = |number: isize| usize::try_from(number).unwrap_or(0);
        (place(error.pos.0), place(error.pos.1), shown(&error.msg))
    });
    ExpressionError::Syntax { line, column, what, expression: shown(source) }
}

fn failed(source: &str, what: String) -> ExpressionError {
    ExpressionError::Failed { what, expression: shown(source) }
}

fn flawed(source: &str, flaw: &rewrite::Flaw) -> ExpressionError {
    let place = |name: &String| {
        shape::place_of(source, name, true).or_else(|| shape::place_of(source, name, false)).unwrap_or_default()
    };
    let (line, column) = flaw.name.as_ref().map(place).unwrap_or_default();
    ExpressionError::Syntax { line, column, what: flaw.what.clone(), expression: shown(source) }
}

pub(crate) fn timed_out(limit: Duration, source: &str) -> ExpressionError {
    ExpressionError::TimedOut { milliseconds: limit.as_millis(), expression: shown(source) }
}

pub(crate) fn pool_error(error: PoolError, expression: String) -> ExpressionError {
    match error {
        PoolError::Late => ExpressionError::Unavailable("the machine is too busy to come to an end with it".to_owned()),
        PoolError::Panicked => ExpressionError::Failed { what: "the interpreter panicked".to_owned(), expression },
        PoolError::Busy => ExpressionError::Unavailable("all threads for expressions are taken".to_owned()),
        PoolError::Spawn(error) => ExpressionError::Unavailable(format!("no thread can be started: {error}")),
    }
}

/// The beginning, on one line.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(120).map(|char| if char.is_control() { ' ' } else { char }).collect();
    if text.chars().nth(120).is_some() {
        shown.push('…');
    }
    shown
}
