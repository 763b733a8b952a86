//! JSON as CEL values: texts are borrowed, and an object or list is opened only when the expression looks into it.
//!
//! Whole numbers are `int` (`uint` only above its range), so that `self.spec.count + 1` works. An opened object is the
//! interpreter's own map, with its children unopened: operators find one of their own types, whatever they do.

use std::sync::{LazyLock, OnceLock};

use cel_interpreter::common::{
    traits::{Adder, Container, Indexer, Iterable, Sizer, Zeroer},
    types::{
        CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt, LIST_TYPE, MAP_TYPE, Type,
    },
    value::{Builtin, BuiltinRef, Val},
};
use serde_json::{Map, Value};

use super::meter;

/// The types of views: equal to the interpreter's own, but at addresses that tell them apart. Made when they are needed: a
/// constant may be given the address of another that is equal, and is where the compiler optimises, so that lists and maps that
/// an expression makes were taken for views.
static OBJECT: LazyLock<Type> = LazyLock::new(|| MAP_TYPE);
static ARRAY: LazyLock<Type> = LazyLock::new(|| LIST_TYPE);

/// Elements of an object or list that are opened for one step.
const OPENED: usize = 8;

/// A CEL value that borrows this JSON.
pub(super) fn of<'v>(value: &'v Value) -> Box<dyn Val + 'v> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(value) => Box::new(CelBool::from(*value)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Box::new(CelInt::from(number)),
            (None, Some(number)) => Box::new(CelUInt::from(number)),
            (None, None) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(elements) => Box::new(ArrayView { elements, open: OnceLock::new() }),
        Value::Object(fields) => Box::new(ObjectView { fields, open: OnceLock::new() }),
    }
}

/// Whether this is a view: small whatever it shows.
pub(super) fn borrows(value: &dyn Val) -> bool {
    let (kind, object, array): (_, &Type, &Type) = (value.get_type(), &OBJECT, &ARRAY);
    std::ptr::eq(kind, object) || std::ptr::eq(kind, array)
}

fn may_loop(length: usize) -> bool {
    let most = meter::values().looped;
    if length > most {
        meter::exceed(|| format!("it loops over {length} elements, at most {most} are allowed"));
    }
    length <= most
}

#[derive(Debug)]
struct ObjectView<'v> {
    fields: &'v Map<String, Value>,
    open: OnceLock<CelMap<'v>>,
}

impl<'v> ObjectView<'v> {
    fn open(&self) -> &CelMap<'v> {
        self.open.get_or_init(|| {
            // Not opened when the steps are spent: the evaluation is refused whatever comes out of it.
            if !meter::spend((self.fields.len() / OPENED) as u64) {
                return CelMap::default();
            }
            let fields = self.fields.iter();
            let fields = fields.map(|(key, value)| (CelMapKey::String(CelString::from(key.as_str())), of(value)));
            CelMap::from(fields.collect::<std::collections::HashMap<_, _>>())
        })
    }

    fn into_open(self) -> CelMap<'v> {
        self.open();
        self.open.into_inner().unwrap_or_default()
    }
}

impl Val for ObjectView<'_> {
    fn get_type(&self) -> &Type {
        &OBJECT
    }

    fn cel_type() -> &'static Type {
        &OBJECT
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self.open())
    }

    fn as_indexer<'b, 'w>(&'b self) -> Option<&'b (dyn Indexer + 'w)>
    where
        Self: 'w,
    {
        Some(self.open())
    }

    fn into_indexer<'w>(self: Box<Self>) -> Option<Box<dyn Indexer + 'w>>
    where
        Self: 'w,
    {
        Some(Box::new(self.into_open()))
    }

    fn as_iterable<'b, 'w>(&'b self) -> Option<&'b (dyn Iterable + 'w)>
    where
        Self: 'w,
    {
        may_loop(self.fields.len()).then(|| self.open() as &'b (dyn Iterable + 'w))
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self.open())
    }

    fn as_zeroer(&self) -> Option<&dyn Zeroer> {
        Some(self.open())
    }

    fn equals(&self, other: &dyn Val) -> bool {
        self.open().equals(other)
    }

    fn clone_as_boxed<'w>(&self) -> Box<dyn Val + 'w>
    where
        Self: 'w,
    {
        Box::new(ObjectView { fields: self.fields, open: OnceLock::new() })
    }

    fn as_builtin<'b, 'w>(&'b self) -> BuiltinRef<'b, 'w>
    where
        Self: 'w,
    {
        BuiltinRef::Map(self.open())
    }

    fn into_builtin<'w>(self: Box<Self>) -> Option<Builtin<'w>>
    where
        Self: 'w,
    {
        Some(Builtin::Map(self.into_open()))
    }
}

#[derive(Debug)]
struct ArrayView<'v> {
    elements: &'v [Value],
    open: OnceLock<CelList<'v>>,
}

impl<'v> ArrayView<'v> {
    fn open(&self) -> &CelList<'v> {
        self.open.get_or_init(|| {
            if !meter::spend((self.elements.len() / OPENED) as u64) {
                return CelList::default();
            }
            CelList::from(self.elements.iter().map(of).collect::<Vec<_>>())
        })
    }

    fn into_open(self) -> CelList<'v> {
        self.open();
        self.open.into_inner().unwrap_or_default()
    }
}

impl Val for ArrayView<'_> {
    fn get_type(&self) -> &Type {
        &ARRAY
    }

    fn cel_type() -> &'static Type {
        &ARRAY
    }

    fn as_adder<'b, 'w>(&'b self) -> Option<&'b (dyn Adder + 'w)>
    where
        Self: 'w,
    {
        Some(self.open())
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self.open())
    }

    fn as_indexer<'b, 'w>(&'b self) -> Option<&'b (dyn Indexer + 'w)>
    where
        Self: 'w,
    {
        Some(self.open())
    }

    fn into_indexer<'w>(self: Box<Self>) -> Option<Box<dyn Indexer + 'w>>
    where
        Self: 'w,
    {
        Some(Box::new(self.into_open()))
    }

    fn as_iterable<'b, 'w>(&'b self) -> Option<&'b (dyn Iterable + 'w)>
    where
        Self: 'w,
    {
        may_loop(self.elements.len()).then(|| self.open() as &'b (dyn Iterable + 'w))
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self.open())
    }

    fn as_zeroer(&self) -> Option<&dyn Zeroer> {
        Some(self.open())
    }

    fn equals(&self, other: &dyn Val) -> bool {
        self.open().equals(other)
    }

    fn clone_as_boxed<'w>(&self) -> Box<dyn Val + 'w>
    where
        Self: 'w,
    {
        Box::new(ArrayView { elements: self.elements, open: OnceLock::new() })
    }

    fn as_builtin<'b, 'w>(&'b self) -> BuiltinRef<'b, 'w>
    where
        Self: 'w,
    {
        BuiltinRef::List(self.open())
    }

    fn into_builtin<'w>(self: Box<Self>) -> Option<Builtin<'w>>
    where
        Self: 'w,
    {
        Some(Builtin::List(self.into_open()))
    }
}
