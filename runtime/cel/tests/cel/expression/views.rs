//! Objects and lists that are given are like those that an expression makes, whatever is done with them.

use serde_json::json;

use super::{ask, object, patient};

#[test]
fn what_is_given_is_like_what_is_made() {
    let evaluator = patient();
    let object = json!({"map": {"a": 1}, "list": [1, [2]], "none": {}, "nothing": []});
    for source in [
        "self.list == [1, [2]] && !(self.list == [1, [3]]) && !(self.list == [1]) && self.list != self.map",
        "self.map == {'a': 1} && !(self.map == {'a': 2}) && !(self.map == {}) && self.map != self.none",
        "self.list + [3] == [1, [2], 3] && [0] + self.list == [0, 1, [2]] && self.list + self.nothing == self.list",
        "1 in self.list && !(2 in self.list) && 'a' in self.map && !('b' in self.map)",
        "self.list.size() == 2 && self.map.size() == 1 && self.list.all(x, x != 2) && self.map.all(k, k == 'a')",
        // Out of a list or map that is made, and gone then.
        "[self][0].map.a == 1 && {'x': self}.x.map.a == 1 && [self.map][0]['a'] == 1",
        "[self.list][0][1] == [2] && [self.list][0][1][0] == 2 && [self.map].map(m, m)[0].a == 1",
        "optional.of(self).value().map.a == 1 && optional.of(self.list).value()[0] == 1",
        "[self][?0].list[?0].orValue(0) == 1 && [self.map][0].?b.orValue(7) == 7",
        // Zero is what holds nothing.
        "!optional.ofNonZeroValue(self.none).hasValue() && !optional.ofNonZeroValue(self.nothing).hasValue()",
        "optional.ofNonZeroValue(self.map).hasValue() && optional.ofNonZeroValue(self.list).hasValue()",
    ] {
        assert_eq!(ask(&evaluator, source, &object), Ok(true), "{source}");
    }
}

#[test]
fn what_cannot_be_done_with_a_list_or_map_is_told() {
    let evaluator = patient();
    for source in [
        "{[self][0]: 1}.size() == 1",
        "{[self.spec.zones][0]: 1}.size() == 1",
        "{self: 1}.size() == 1",
        "self.spec.zones['a'] == 1",
        "self + self == self",
        "self.spec.zones + 1 == []",
        "self < self",
        "-self.spec.zones == 1",
    ] {
        let error = ask(&evaluator, source, &object()).unwrap_err().to_string();
        assert!(!error.contains("panicked"), "{source}: {error}");
    }
}
