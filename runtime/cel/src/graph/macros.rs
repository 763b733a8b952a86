//! The macros of graphs, and what each becomes: the same nodes as in cel-go, so that checker and interpreter see no macro.
//!
//! `R` is [`ACCUMULATOR`], a name that nobody can write. A loop is a `ComprehensionExpr`, shown as
//! `loop(variables in range; accumulator = begin; while; accumulator = step; result)`.
//!
//! | macro | becomes |
//! |---|---|
//! | `has(a.b)` | the `SelectExpr` `a.b` with `test` |
//! | `l.all(x, p)` | `loop(x in l; R = true; @not_strictly_false(R); R && p; R)` |
//! | `l.exists(x, p)` | `loop(x in l; R = false; @not_strictly_false(!R); R \|\| p; R)` |
//! | `l.exists_one(x, p)` | `loop(x in l; R = 0; true; p ? R + 1 : R; R == 1)` |
//! | `l.map(x, e)` | `loop(x in l; R = []; true; R + [e]; R)` |
//! | `l.map(x, p, e)` | the same with the step `p ? R + [e] : R` |
//! | `l.filter(x, p)` | `loop(x in l; R = []; true; p ? R + [x] : R; R)` |
//! | `l.all(i, v, p)`, `exists`, `exists_one`, `existsOne` | as with one variable; `iter_var` is `i`, `iter_var2` is `v` |
//! | `l.transformList(i, v, e)`, `(i, v, p, e)` | as `map`, with two variables |
//! | `l.transformMap(i, v, e)`, `(i, v, p, e)` | `loop(i, v in l; R = {}; true; cel.@mapInsert(R, i, e); R)`; step with `p`: `p ? … : R` |
//! | `l.transformMapEntry(i, v, e)`, `(i, v, p, e)` | the same with the step `cel.@mapInsert(R, e)` |
//! | `cel.bind(x, a, b)` | `loop(#unused in []; x = a; false; x; b)`: a [`bound`] variable |
//! | `o.optMap(x, e)` | `o.hasValue() ? optional.of(bind x = o.value() in e) : optional.none()` |
//! | `o.optFlatMap(x, e)` | the same without `optional.of` around it |
//! | `l.sortBy(x, e)` | `bind S = l in S.@sortByAssociatedKeys(S.map(x, e))`, `S` is [`SORTED`] |
//! | `runtime.newCondition({type: …})` | the method `newCondition` of `runtime`, with a map whose keys are texts |
//!
//! Of an `o` that is more than a name, `optMap` and `optFlatMap` first make a variable: `bind @target = o in …`.
//! Calls without a target have their full name in `func_name`: `cel.@mapInsert`, `optional.of`, `optional.none`. What
//! people write themselves as `optional.of(x)` is, as always, a call of `of` whose target is the name `optional`.
//! `existsOne` with one variable is no macro here.

use cel_interpreter::{
    Env, ParseError,
    common::{
        ast::{
            CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, ListExpr, LiteralValue, MapEntryExpr, MapExpr,
            operators,
        },
        types::{CelBool, CelInt, CelString},
    },
    parser::{Expression, Macro, MacroExprHelper},
};

/// The variable in which a loop gathers its result.
pub const ACCUMULATOR: &str = "@result";

/// The variable that a `bind` would loop over, if it did.
pub const UNUSED: &str = "#unused";

/// The list that `sortBy` sorts.
pub const SORTED: &str = "@__sortBy_input__";

/// The optional value that `optMap` looks into, when it is more than a name.
pub const TARGET: &str = "@target";

/// Sorts a list by a list of keys, one for each of its elements.
pub const SORT_BY_KEYS: &str = "@sortByAssociatedKeys";

/// Puts a key and a value, or the entries of another map, into a map; a key that is there already is an error.
pub const MAP_INSERT: &str = "cel.@mapInsert";

/// The keys of a condition. `type` and `status` are required.
pub const CONDITION_KEYS: [&str; 4] = ["type", "status", "reason", "message"];

/// Whether this is no loop but a variable: `accu_var` stands for `accu_init` in `result`. cel-go evaluates it when it is
/// first asked for, and never when it is not.
pub fn bound(comprehension: &ComprehensionExpr) -> bool {
    comprehension.iter_var == UNUSED
}

/// An environment whose parser knows these macros and the syntax of optional values. It has no functions.
pub fn environment() -> Env {
    let mut env = Env::default();
    for each in all() {
        let declared = env.add_macro(each);
        debug_assert!(declared.is_ok(), "a macro is declared twice: {declared:?}");
    }
    env
}

type Parts<'a> = (&'a mut Option<Expression>, &'a mut Vec<Expression>);
type Expansion = Result<Option<Expression>, ParseError>;

fn all() -> Vec<Macro> {
    let method = |name: &str, arguments: usize, expand: fn(&mut Nodes<'_, '_>, Parts<'_>) -> Expansion| {
        Macro::receiver(name, arguments, move |helper, target, args| expand(&mut Nodes(helper), (target, args)))
    };
    let mut macros = vec![
        Macro::global("has", 1, |helper, _, args| has(&mut Nodes(helper), args)),
        method("map", 2, |nodes, parts| collected(nodes, parts, 1)),
        method("map", 3, |nodes, parts| collected(nodes, parts, 1)),
        method("filter", 2, filter),
        method("transformList", 3, |nodes, parts| collected(nodes, parts, 2)),
        method("transformList", 4, |nodes, parts| collected(nodes, parts, 2)),
        method("transformMap", 3, |nodes, parts| inserted(nodes, parts, true)),
        method("transformMap", 4, |nodes, parts| inserted(nodes, parts, true)),
        method("transformMapEntry", 3, |nodes, parts| inserted(nodes, parts, false)),
        method("transformMapEntry", 4, |nodes, parts| inserted(nodes, parts, false)),
        method("optMap", 2, |nodes, parts| mapped(nodes, parts, true)),
        method("optFlatMap", 2, |nodes, parts| mapped(nodes, parts, false)),
        method("bind", 3, bind),
        method("sortBy", 2, sort_by),
        method("newCondition", 1, new_condition),
        method("exists_one", 2, |nodes, parts| one(nodes, parts, 1)),
        method("exists_one", 3, |nodes, parts| one(nodes, parts, 2)),
        method("existsOne", 3, |nodes, parts| one(nodes, parts, 2)),
    ];
    for variables in [1, 2] {
        let expand: [fn(&mut Nodes<'_, '_>, Parts<'_>) -> Expansion; 2] = if variables == 1 {
            [|nodes, parts| quantified(nodes, parts, 1, true), |nodes, parts| quantified(nodes, parts, 1, false)]
        } else {
            [|nodes, parts| quantified(nodes, parts, 2, true), |nodes, parts| quantified(nodes, parts, 2, false)]
        };
        macros.push(method("all", variables + 1, expand[0]));
        macros.push(method("exists", variables + 1, expand[1]));
    }
    macros
}

/// Makes nodes in the place of the macro's call.
struct Nodes<'n, 'h>(&'n mut MacroExprHelper<'h>);

/// A loop without its accumulator's name.
struct Loop {
    range: Expression,
    variables: Variables,
    begin: Expression,
    goes_on: Expression,
    step: Expression,
    result: Expression,
}

struct Variables {
    first: String,
    second: Option<String>,
}

impl Nodes<'_, '_> {
    fn node(&mut self, expr: Expr) -> Expression {
        self.0.next_expr(expr)
    }

    fn name(&mut self, name: &str) -> Expression {
        self.node(Expr::Ident(name.to_owned()))
    }

    fn accumulator(&mut self) -> Expression {
        self.name(ACCUMULATOR)
    }

    fn bool(&mut self, value: bool) -> Expression {
        self.node(Expr::Literal(LiteralValue::Boolean(CelBool::from(value))))
    }

    fn int(&mut self, value: i64) -> Expression {
        self.node(Expr::Literal(LiteralValue::Int(CelInt::from(value))))
    }

    fn list(&mut self, elements: Vec<Expression>) -> Expression {
        self.node(Expr::List(ListExpr::new(elements)))
    }

    fn call(&mut self, name: &str, args: Vec<Expression>) -> Expression {
        self.node(Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args }))
    }

    fn method(&mut self, target: Expression, name: &str, args: Vec<Expression>) -> Expression {
        self.node(Expr::Call(CallExpr { func_name: name.to_owned(), target: Some(Box::new(target)), args }))
    }

    fn looped(&mut self, parts: Loop) -> Expression {
        let Loop { range, variables, begin, goes_on, step, result } = parts;
        self.node(Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: range,
            iter_var: variables.first,
            iter_var2: variables.second,
            accu_var: ACCUMULATOR.to_owned(),
            accu_init: begin,
            loop_cond: goes_on,
            loop_step: step,
            result,
        })))
    }

    /// `name` standing for `value` within `result`.
    fn bound(&mut self, name: &str, value: Expression, result: Expression) -> Expression {
        let (range, goes_on, step) = (self.list(Vec::new()), self.bool(false), self.name(name));
        self.node(Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: range,
            iter_var: UNUSED.to_owned(),
            iter_var2: None,
            accu_var: name.to_owned(),
            accu_init: value,
            loop_cond: goes_on,
            loop_step: step,
            result,
        })))
    }

    /// `step`, or the accumulator as it is where the condition does not hold.
    fn guarded(&mut self, condition: Option<Expression>, step: Expression) -> Expression {
        let Some(condition) = condition else { return step };
        let otherwise = self.accumulator();
        self.call(operators::CONDITIONAL, vec![condition, step, otherwise])
    }

    fn wrong<T>(&self, at: &Expression, what: impl Into<String>) -> Result<T, ParseError> {
        Err(self.0.new_error(at.id, what))
    }

    /// A variable's name; a second of the same name is an error.
    fn variable(&self, name: &Expression, before: Option<&str>) -> Result<String, ParseError> {
        match &name.expr {
            Expr::Ident(name) if Some(name.as_str()) == before => {
                Err(self.0.new_error(0, format!("duplicate variable name: {name}")))
            }
            Expr::Ident(name) if !name.starts_with(['@', '.']) => Ok(name.clone()),
            _ => self.wrong(name, "argument is not an identifier: a variable's name is expected"),
        }
    }

    /// Target, variables, and what is left of the arguments. Everything is taken: who declines does so before.
    fn looping(
        &self,
        (target, args): Parts<'_>,
        variables: usize,
    ) -> Result<(Expression, Variables, Vec<Expression>), ParseError> {
        let (target, mut rest) = (target.take(), std::mem::take(args).into_iter());
        let first = rest.next().map(|name| self.variable(&name, None)).transpose()?;
        let second = if variables > 1 { rest.next() } else { None };
        let second = second.map(|name| self.variable(&name, first.as_deref())).transpose()?;
        match (target, first) {
            (Some(target), Some(first)) => Ok((target, Variables { first, second }, rest.collect())),
            _ => Err(self.0.new_error(0, "a macro without its arguments")),
        }
    }
}

fn missing(nodes: &Nodes<'_, '_>) -> ParseError {
    nodes.0.new_error(0, "a macro without its arguments")
}

fn has(nodes: &mut Nodes<'_, '_>, args: &mut Vec<Expression>) -> Expansion {
    let Some(arg) = args.pop() else { return Ok(None) };
    match arg.expr {
        // Whether a field that is asked for is there: the same question, as in cel-go.
        Expr::Select(mut select) => {
            select.test = true;
            Ok(Some(nodes.node(Expr::Select(select))))
        }
        _ => nodes.wrong(&arg, "invalid argument to has() macro: a field is expected, as in has(a.b)"),
    }
}

fn quantified(nodes: &mut Nodes<'_, '_>, parts: Parts<'_>, variables: usize, every: bool) -> Expansion {
    let (range, variables, mut rest) = nodes.looping(parts, variables)?;
    let test = rest.pop().ok_or_else(|| missing(nodes))?;
    let (begin, mut open) = (nodes.bool(every), nodes.accumulator());
    if !every {
        open = nodes.call(operators::LOGICAL_NOT, vec![open]);
    }
    let goes_on = nodes.call(operators::NOT_STRICTLY_FALSE, vec![open]);
    let before = nodes.accumulator();
    let step = nodes.call(if every { operators::LOGICAL_AND } else { operators::LOGICAL_OR }, vec![before, test]);
    let result = nodes.accumulator();
    Ok(Some(nodes.looped(Loop { range, variables, begin, goes_on, step, result })))
}

fn one(nodes: &mut Nodes<'_, '_>, parts: Parts<'_>, variables: usize) -> Expansion {
    let (range, variables, mut rest) = nodes.looping(parts, variables)?;
    let test = rest.pop().ok_or_else(|| missing(nodes))?;
    let (begin, goes_on) = (nodes.int(0), nodes.bool(true));
    let (before, more) = (nodes.accumulator(), nodes.int(1));
    let step = nodes.call(operators::ADD, vec![before, more]);
    let step = nodes.guarded(Some(test), step);
    let (count, wanted) = (nodes.accumulator(), nodes.int(1));
    let result = nodes.call(operators::EQUALS, vec![count, wanted]);
    Ok(Some(nodes.looped(Loop { range, variables, begin, goes_on, step, result })))
}

/// `map`, `transformList`.
fn collected(nodes: &mut Nodes<'_, '_>, parts: Parts<'_>, variables: usize) -> Expansion {
    let (range, variables, mut rest) = nodes.looping(parts, variables)?;
    let element = rest.pop().ok_or_else(|| missing(nodes))?;
    let condition = rest.pop();
    Ok(Some(appended(nodes, range, variables, condition, element)))
}

fn filter(nodes: &mut Nodes<'_, '_>, parts: Parts<'_>) -> Expansion {
    let (range, variables, mut rest) = nodes.looping(parts, 1)?;
    let condition = rest.pop();
    let element = nodes.name(&variables.first);
    Ok(Some(appended(nodes, range, variables, condition, element)))
}

fn appended(
    nodes: &mut Nodes<'_, '_>,
    range: Expression,
    variables: Variables,
    condition: Option<Expression>,
    element: Expression,
) -> Expression {
    let (begin, goes_on) = (nodes.list(Vec::new()), nodes.bool(true));
    let (before, added) = (nodes.accumulator(), nodes.list(vec![element]));
    let step = nodes.call(operators::ADD, vec![before, added]);
    let step = nodes.guarded(condition, step);
    let result = nodes.accumulator();
    nodes.looped(Loop { range, variables, begin, goes_on, step, result })
}

/// `transformMap`, `transformMapEntry`.
fn inserted(nodes: &mut Nodes<'_, '_>, parts: Parts<'_>, keyed: bool) -> Expansion {
    let (range, variables, mut rest) = nodes.looping(parts, 2)?;
    let value = rest.pop().ok_or_else(|| missing(nodes))?;
    let condition = rest.pop();
    let (begin, goes_on) = (nodes.node(Expr::Map(MapExpr { entries: Vec::new() })), nodes.bool(true));
    let mut args = vec![nodes.accumulator()];
    if keyed {
        args.push(nodes.name(&variables.first));
    }
    args.push(value);
    let step = nodes.call(MAP_INSERT, args);
    let step = nodes.guarded(condition, step);
    let result = nodes.accumulator();
    Ok(Some(nodes.looped(Loop { range, variables, begin, goes_on, step, result })))
}

fn is_name(expression: Option<&Expression>, wanted: &str) -> bool {
    matches!(expression.map(|expression| &expression.expr), Some(Expr::Ident(name)) if name == wanted)
}

fn bind(nodes: &mut Nodes<'_, '_>, (target, args): Parts<'_>) -> Expansion {
    if !is_name(target.as_ref(), "cel") {
        return Ok(None);
    }
    let mut args = std::mem::take(args).into_iter();
    let (Some(name), Some(value), Some(result)) = (args.next(), args.next(), args.next()) else {
        return Err(missing(nodes));
    };
    let Expr::Ident(name) = &name.expr else {
        return nodes.wrong(&name, "cel.bind() variable names must be simple identifiers");
    };
    Ok(Some(nodes.bound(name, value, result)))
}

fn mapped(nodes: &mut Nodes<'_, '_>, (target, args): Parts<'_>, wrapped: bool) -> Expansion {
    let mut args = std::mem::take(args).into_iter();
    let (Some(target), Some(name), Some(value)) = (target.take(), args.next(), args.next()) else {
        return Err(missing(nodes));
    };
    let Expr::Ident(name) = &name.expr else {
        return nodes.wrong(&name, "the variable of optMap() and optFlatMap() must be a simple identifier");
    };
    let simple = if let Expr::Ident(simple) = &target.expr { Some(simple.clone()) } else { None };
    let optional = simple.as_deref().unwrap_or(TARGET);
    let (asked, opened) = (nodes.name(optional), nodes.name(optional));
    let condition = nodes.method(asked, "hasValue", Vec::new());
    let opened = nodes.method(opened, "value", Vec::new());
    let mut some = nodes.bound(name, opened, value);
    if wrapped {
        some = nodes.call("optional.of", vec![some]);
    }
    let none = nodes.call("optional.none", Vec::new());
    let result = nodes.call(operators::CONDITIONAL, vec![condition, some, none]);
    Ok(Some(if simple.is_some() { result } else { nodes.bound(TARGET, target, result) }))
}

fn sort_by(nodes: &mut Nodes<'_, '_>, parts: Parts<'_>) -> Expansion {
    let (list, variables, mut rest) = nodes.looping(parts, 1)?;
    if matches!(list.expr, Expr::Literal(_) | Expr::Map(_) | Expr::Struct(_)) {
        return nodes.wrong(&list, "sortBy can only be applied to a list, name, loop, call or field");
    }
    let key = rest.pop().ok_or_else(|| missing(nodes))?;
    let range = nodes.name(SORTED);
    let keys = appended(nodes, range, variables, None, key);
    let sorted = nodes.name(SORTED);
    let sorted = nodes.method(sorted, SORT_BY_KEYS, vec![keys]);
    Ok(Some(nodes.bound(SORTED, list, sorted)))
}

fn new_condition(nodes: &mut Nodes<'_, '_>, (target, args): Parts<'_>) -> Expansion {
    if !is_name(target.as_ref(), "runtime") {
        return Ok(None);
    }
    let (Some(target), Some(arg)) = (target.take(), args.pop()) else { return Err(missing(nodes)) };
    let Expr::Map(map) = &arg.expr else {
        return nodes.wrong(&arg, "runtime.newCondition: argument must be a map literal");
    };
    let mut entries: Vec<IdedEntryExpr> = Vec::with_capacity(map.entries.len());
    let mut seen: Vec<&str> = Vec::new();
    for entry in &map.entries {
        let EntryExpr::MapEntry(MapEntryExpr { key, value, .. }) = &entry.expr else {
            return nodes.wrong(&arg, "runtime.newCondition: argument must be a map literal");
        };
        let Expr::Ident(name) = &key.expr else {
            let what = "keys must be bare identifiers (type, status, reason, message); quoted or computed keys are not allowed";
            return nodes.wrong(key, format!("runtime.newCondition: {what}"));
        };
        if !CONDITION_KEYS.contains(&name.as_str()) {
            let what = format!("unknown key {name:?} (allowed: type, status, reason, message)");
            return nodes.wrong(key, format!("runtime.newCondition: {what}"));
        }
        if seen.contains(&name.as_str()) {
            return nodes.wrong(key, format!("runtime.newCondition: duplicate key {name:?}"));
        }
        seen.push(name);
        let key = nodes.node(Expr::Literal(LiteralValue::String(CelString::from(name.clone()))));
        let expr = EntryExpr::MapEntry(MapEntryExpr { key, value: value.clone(), optional: false });
        entries.push(IdedEntryExpr { id: entry.id, expr });
    }
    if let Some(name) = CONDITION_KEYS.iter().take(2).find(|name| !seen.contains(*name)) {
        return nodes.wrong(&arg, format!("runtime.newCondition: '{name}' is required"));
    }
    let map = nodes.node(Expr::Map(MapExpr { entries }));
    Ok(Some(nodes.method(target, "newCondition", vec![map])))
}
