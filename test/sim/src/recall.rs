//! What objects were told like a moment ago: whoever changes one asks for that, whoever did so is answered with it, and all who
//! watch are told it.

use std::{cell::RefCell, collections::VecDeque, sync::Arc};

use serde_json::Value;

/// So many are remembered.
const MANY: usize = 64;

thread_local! {
    /// Schemas, objects of them as they are kept, and as they are told.
    static RECENT: RefCell<VecDeque<[Arc<Value>; 3]>> = const { RefCell::new(VecDeque::new()) };
}

/// What `tell` makes of an object of this schema. Both are held meanwhile, so that nothing else can come to be where they are.
pub(crate) fn recall(schema: &Arc<Value>, kept: &Arc<Value>, tell: impl FnOnce() -> Value) -> Arc<Value> {
    let known = RECENT.with_borrow(|recent| {
        let mut latest = recent.iter().rev();
        let found = latest.find(|[of, held, _]| Arc::ptr_eq(held, kept) && Arc::ptr_eq(of, schema));
        found.map(|[_, _, told]| Arc::clone(told))
    });
    known.unwrap_or_else(|| {
        let told = Arc::new(tell());
        RECENT.with_borrow_mut(|recent| {
            if recent.len() >= MANY {
                recent.pop_front();
            }
            recent.push_back([Arc::clone(schema), Arc::clone(kept), Arc::clone(&told)]);
        });
        told
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_is_told_once_in_each_version() {
        let of = |value| Arc::new(json!(value));
        let (one, other, object) = (of(1), of(1), of(2));
        let first = recall(&one, &object, || json!("one"));
        assert_eq!(*recall(&other, &object, || json!("other")), json!("other"));
        assert!(Arc::ptr_eq(&first, &recall(&one, &object, || json!("again"))));
        for _ in 0..MANY {
            recall(&one, &of(2), || json!(null));
        }
        assert_eq!(*recall(&one, &object, || json!("forgotten")), json!("forgotten"));
    }
}
