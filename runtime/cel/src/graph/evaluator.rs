//! `Evaluator`: compiles and evaluates expressions of graphs, within bounds.
//!
//! The gates are those of [`crate::expression`]: the text is counted before it is parsed, on threads of a pool; steps,
//! time and sizes are metered. Only the interpreter is another, which counts by itself.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use cel_interpreter::{Env, parser::Expression};
use serde_json::Value as Json;

use super::{
    failure::Failure,
    interpret::{Interpreter, Sums},
    joined, macros,
    names::{self, Asked},
    plain,
    provenance::Provenance,
    result,
    scope::{Bound, Evaluate as _},
    text::{Part, TextTemplate},
    value_type::ValueType,
};
use crate::{
    expression::{
        ExpressionError, Limits, meter, patience,
        pool::{Pool, PoolError},
        pool_error, shape, shown,
        strikes::Strikes,
        syntax_error, timed_out,
    },
    processor,
};

/// Longest part of an error that is told, in characters.
const TOLD: usize = 200;

/// A compiled expression of a graph. Cheap to clone; the clones share their record of running out of time.
#[derive(Clone)]
pub struct Program {
    inner: Arc<Inner>,
    /// Of what type each `sum()` is, by its number in the expression, where the checker has said so.
    sums: Arc<Sums>,
}

struct Inner {
    source: String,
    /// Whose it is: each owner has a share of the threads.
    owner: Arc<str>,
    expression: Expression,
    asked: Asked,
    /// It needs no thread of its own.
    plain: bool,
    strikes: Strikes,
}

impl Program {
    /// The text it was compiled from.
    pub fn source(&self) -> &str {
        &self.inner.source
    }

    /// What the text was parsed into, macros replaced as [`macros`] says. For the checker of types.
    pub fn expression(&self) -> &Expression {
        &self.inner.expression
    }

    /// Names it takes from outside, sorted: `schema`, `runtime`, not the variables of its loops nor the names of types.
    pub fn variables(&self) -> &[String] {
        &self.inner.asked.variables
    }

    /// Whether it calls `omit()`.
    pub fn omits(&self) -> bool {
        self.inner.asked.omits
    }

    /// What the conditions say that it makes, where that is a fixed text: `("type", "Ok")` of
    /// `runtime.newCondition({type: "Ok", status: …})`.
    pub fn conditions_written(&self) -> &[(String, String)] {
        &self.inner.asked.written
    }

    /// Types of conditions of `schema` that it reads, where they are fixed texts: `runtime.condition(schema, "Ready")`.
    pub fn conditions_read(&self) -> &[String] {
        &self.inner.asked.read
    }

    /// The same, told of what type its sums are: one of nothing is 0 of that.
    pub(crate) fn with_sums(&self, sums: Sums) -> Self {
        Self { inner: Arc::clone(&self.inner), sums: Arc::new(sums) }
    }

    /// For how many parties it has run out of time again and again.
    pub fn slow_for(&self) -> usize {
        self.inner.strikes.parties()
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Program").field(&self.inner.source).finish()
    }
}

/// A variable that is handed in.
#[derive(Debug, Clone)]
pub struct Variable<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value.
    pub value: Arc<Json>,
    /// As what it is seen.
    pub of: ValueType,
    /// Nothing more will come: what is not there is an error that names it, not pending.
    pub whole: bool,
}

impl<'a> Variable<'a> {
    /// Whatever it is, and it may grow.
    pub fn dynamic(name: &'a str, value: Arc<Json>) -> Self {
        Self { name, value, of: ValueType::Dyn, whole: false }
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

impl Evaluator {
    /// An evaluator with these limits. Its threads start when they are needed and end with it.
    pub fn with_limits(limits: Limits) -> Self {
        Self { pool: Pool::new(), env: Arc::new(macros::environment()), limits }
    }

    /// One that works on the thread that asks, and ends by steps alone. For a simulator, whose runs must not depend on how busy
    /// the machine is; a stranger's expression may keep the thread for minutes, and needs a large stack to be parsed on.
    pub fn inline(limits: Limits) -> Self {
        Self { pool: Pool::inline(), env: Arc::new(macros::environment()), limits: limits.steps_only() }
    }

    /// Compiles an expression of this owner, who has a share of the threads for compiling and evaluating all of his.
    /// A function that does not exist is an error; types are not checked. Blocks as [`Evaluator::evaluate`] does.
    pub fn compile(&self, owner: &str, source: &str) -> Result<Program, ExpressionError> {
        self.compile_parts(owner, source.to_owned(), vec![Part::Expression(source.to_owned())])
    }

    /// Compiles a text with expressions in it to one that makes the whole text. Each of them is held to what an expression may
    /// be; of the whole, the plain text to what may be made, and the number of expressions to that of operators.
    pub fn compile_text(&self, owner: &str, text: &TextTemplate) -> Result<Program, ExpressionError> {
        let source = text.cel().ok_or(ExpressionError::Empty)?;
        self.compile_parts(owner, source, text.parts().to_vec())
    }

    fn compile_parts(&self, owner: &str, source: String, parts: Vec<Part>) -> Result<Program, ExpressionError> {
        joined::check(&parts, &self.limits)?;
        let env = Arc::clone(&self.env);
        let owner: Arc<str> = owner.into();
        let (whose, limit, told) = (Arc::clone(&owner), self.limits.compile, shown(&source));
        let work = move || {
            let begun = processor::time();
            let (mut pieces, mut asked) = (Vec::with_capacity(parts.len()), Asked::default());
            for part in parts {
                pieces.push(match part {
                    Part::Text(text) => joined::literal(text),
                    Part::Expression(text) => {
                        let piece = parsed(&env, &text)?;
                        asked.add(names::asked(&piece).map_err(|flaw| flawed(&text, &flaw))?);
                        piece
                    }
                });
                // One is not interrupted; many are.
                if processor::time().saturating_sub(begun) > limit {
                    return Err(timed_out(limit, &source));
                }
            }
            let expression = joined::join(pieces).ok_or(ExpressionError::Empty)?;
            let plain = plain::is_plain(&expression);
            Ok(Inner { source, owner: whose, expression, asked, plain, strikes: Strikes::default() })
        };
        match self.pool.run(&owner, limit, patience(limit), work) {
            Ok(inner) => inner.map(|inner| Program { inner: Arc::new(inner), sums: Arc::default() }),
            Err(error) => Err(pool_error(error, told)),
        }
    }

    /// Evaluates an expression over these variables to JSON; where `omit()` was stands its mark
    /// ([`super::is_omitted`]).
    ///
    /// [`ExpressionError::is_pending`] says of an error that data is missing which may come: a variable that was not
    /// handed in, a field or element of one that is not whole. Blocks for microseconds as a rule, for
    /// [`Limits::evaluate`] of processor time at the most.
    pub fn evaluate(&self, program: &Program, variables: &[Variable<'_>]) -> Result<Json, ExpressionError> {
        let mut steps = u64::MAX;
        self.evaluate_for("", &mut steps, program, variables)
    }

    /// The same for a party whose object it is about: where it runs out of time again and again, it rests for that party
    /// only. With so many steps at the most, from which those that it takes are taken; what ran out of time takes none:
    /// how far it came is chance.
    pub fn evaluate_for(
        &self,
        party: &str,
        steps: &mut u64,
        program: &Program,
        variables: &[Variable<'_>],
    ) -> Result<Json, ExpressionError> {
        if program.inner.strikes.rests(party) {
            return Err(ExpressionError::Quarantined { expression: shown(program.source()) });
        }
        let bound = variables.iter().map(|variable| Bound {
            origin: Provenance { name: variable.name.to_owned(), whole: variable.whole },
            json: Arc::clone(&variable.value),
            of: variable.of.clone(),
        });
        let (bound, shared): (Vec<Bound>, Program) = (bound.collect(), program.clone());
        let limits = Limits { steps: self.limits.steps.min(*steps), ..self.limits };
        let (limit, party) = (limits.evaluate, party.to_owned());
        // Whether it was in time is noted where it runs: whoever has waited for it knows only that it was not here.
        let work = move || {
            let (result, taken) = run(&shared, &bound, limits);
            shared.inner.strikes.ended(&party, !matches!(result, Err(ExpressionError::TimedOut { .. })));
            (result, taken)
        };
        let ended = if program.inner.plain {
            catch_unwind(AssertUnwindSafe(work)).map_err(|_| PoolError::Panicked)
        } else {
            self.pool.run(&program.inner.owner, limit, patience(limit), work)
        };
        let (result, taken) = match ended {
            Ok(ended) => ended,
            Err(error) => (Err(pool_error(error, shown(program.source()))), 0),
        };
        *steps = steps.saturating_sub(taken);
        result
    }
}

fn parsed(env: &Env, text: &str) -> Result<Expression, ExpressionError> {
    let parser = env.parser().enable_ident_escape_syntax(true);
    parser.parse(text).map_err(|errors| syntax_error(text, &errors.errors))
}

/// Runs on a thread of the pool. Returns how many steps it took as well.
fn run(program: &Program, variables: &[Bound], limits: Limits) -> (Result<Json, ExpressionError>, u64) {
    meter::start(&limits);
    let interpreter = Interpreter { variables, sums: &program.sums };
    let result = interpreter.value(&program.inner.expression, None).and_then(|value| result::of(&value));
    let end = meter::end(limits.steps);
    let expression = || shown(program.source());
    if end.late {
        return (Err(timed_out(limits.evaluate, program.source())), 0);
    }
    // First: nothing makes up for a bound that was met.
    let result = match (end.exceeded, result) {
        (Some(what), _) => Err(ExpressionError::TooCostly { what, expression: expression() }),
        (None, Ok(json)) => Ok(json),
        (None, Err(Failure::Missing(what))) => {
            Err(ExpressionError::Pending { what: told(&what), expression: expression() })
        }
        (None, Err(Failure::Unset(what))) => {
            Err(ExpressionError::Unset { what: told(&what), expression: expression() })
        }
        (None, Err(Failure::Wrong(what))) => {
            Err(ExpressionError::Failed { what: told(&what), expression: expression() })
        }
        (None, Err(Failure::Misfit | Failure::Stopped)) => {
            Err(ExpressionError::Failed { what: "no such overload".to_owned(), expression: expression() })
        }
    };
    (result, end.steps)
}

/// The beginning, on one line.
fn told(what: &str) -> String {
    what.chars().take(TOLD).map(|char| if char.is_control() { ' ' } else { char }).collect()
}

fn flawed(source: &str, flaw: &names::Flaw) -> ExpressionError {
    let place = |name: &str| {
        shape::place_of(source, name, true).or_else(|| shape::place_of(source, name, false)).unwrap_or_default()
    };
    let (line, column) = flaw.name.as_deref().map(place).unwrap_or_default();
    ExpressionError::Syntax { line, column, what: told(&flaw.what), expression: shown(source) }
}
