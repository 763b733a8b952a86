//! `ExpressionError`: what is wrong with an expression, in words for whoever wrote it.

use super::strikes::STRIKES;

/// What is wrong with an expression, or with evaluating it. One line each, no longer than some 300 characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// There is no text.
    #[error("the expression is empty; remove it, or write one that is true or false")]
    Empty,
    /// More bytes than are allowed.
    #[error("the expression has {bytes} bytes; at most {most} are allowed")]
    TooLong {
        /// Bytes that it has.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// More bytes of plain text around expressions than a text may have.
    #[error("the text has {bytes} bytes beside its expressions; at most {most} are allowed")]
    TextTooLong {
        /// Bytes that it has.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// More expressions within one text than are allowed.
    #[error("the text has {found} expressions; at most {most} are allowed")]
    TooManyInText {
        /// Expressions that it has.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// Nested too deep, too many operators or loops.
    #[error("line {line}, column {column}: {what}")]
    TooComplex {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What there is too much of.
        what: String,
    },
    /// The parser does not understand it.
    #[error("line {line}, column {column}: {what} in {expression:?}")]
    Syntax {
        /// From 1; 0 where the parser does not say.
        line: usize,
        /// From 1; 0 where the parser does not say.
        column: usize,
        /// The parser's words.
        what: String,
        /// The beginning of the expression.
        expression: String,
    },
    /// It failed on these values: a missing field, an operator that does not fit.
    #[error("{what} in {expression:?}")]
    Failed {
        /// The interpreter's words.
        what: String,
        /// The beginning of the expression.
        expression: String,
    },
    /// It needs data that is not there yet: a field, a key, an element, a variable. Only graphs tell this apart.
    #[error("{what} in {expression:?}")]
    Pending {
        /// What is not there.
        what: String,
        /// The beginning of the expression.
        expression: String,
    },
    /// It needs a field that is not set, and will not be unless somebody sets it. Only graphs tell this apart.
    #[error("{what} in {expression:?}")]
    Unset {
        /// What is not set, and what helps.
        what: String,
        /// The beginning of the expression.
        expression: String,
    },
    /// Neither true nor false.
    #[error("is a {got}, not true or false: {expression:?}")]
    NotBool {
        /// The type it has.
        got: String,
        /// The beginning of the expression.
        expression: String,
    },
    /// A value that JSON cannot hold.
    #[error("is {got}, which JSON cannot hold: {expression:?}")]
    NotJson {
        /// What it is.
        got: String,
        /// The beginning of the expression.
        expression: String,
    },
    /// It takes too many steps, or makes too large a value.
    #[error("is too costly: {what} in {expression:?}")]
    TooCostly {
        /// The bound that it met.
        what: String,
        /// The beginning of the expression.
        expression: String,
    },
    /// It did not end in time.
    #[error("did not end within {milliseconds} ms of processor time: {expression:?}")]
    TimedOut {
        /// The limit.
        milliseconds: u128,
        /// The beginning of the expression.
        expression: String,
    },
    /// It ran out of time too often.
    #[error(
        "is not evaluated for a while, for it ran out of time {STRIKES} times in a row; simplify it: {expression:?}"
    )]
    Quarantined {
        /// The beginning of the expression.
        expression: String,
    },
    /// The threads for expressions are all taken, cannot be made, or get no time from a busy machine.
    #[error("no expression can be evaluated now: {0}")]
    Unavailable(String),
}

impl ExpressionError {
    /// Whether the same may work in a moment: it had no time, which says nothing of what it would say.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::Unavailable(_))
    }

    /// Whether it was not evaluated at all, for want of threads.
    pub fn is_unheard(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }

    /// Whether it needs what somebody has to set first.
    pub fn is_unset(&self) -> bool {
        matches!(self, Self::Unset { .. })
    }

    /// Whether it waits for data that is not there yet, and is worth another try when something changes.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Pending { .. })
    }

    /// Whether it is not run for a while, which says as little.
    pub fn is_resting(&self) -> bool {
        matches!(self, Self::Quarantined { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::ExpressionError::{self, Pending, TimedOut, Unavailable, Unset};

    #[test]
    fn what_may_help_is_told_apart() {
        let (what, expression) = (String::new, String::new);
        let all = [
            Unavailable(String::new()),
            TimedOut { milliseconds: 1, expression: expression() },
            Unset { what: what(), expression: expression() },
            Pending { what: what(), expression: expression() },
        ];
        assert_eq!(all.each_ref().map(ExpressionError::is_transient), [true, true, false, false]);
        assert_eq!(all.each_ref().map(ExpressionError::is_unheard), [true, false, false, false]);
        assert_eq!(all.each_ref().map(ExpressionError::is_unset), [false, false, true, false]);
    }
}
