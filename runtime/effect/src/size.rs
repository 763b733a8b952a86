//! How large a JSON value is: as text, for what is bounded in size is measured as it is written, and in memory.

use std::io;

use serde_json::Value;

/// Bytes of the value as JSON without spaces.
pub fn of(value: &Value) -> u64 {
    let mut counted = Counter(0);
    // Neither the counter nor a value that was parsed fails.
    let _ = serde_json::to_writer(&mut counted, value);
    counted.0
}

/// What an entry of a map takes beside its name and its value.
const ENTRY: usize = 48;

/// Bytes that the value takes in memory, about.
pub fn held(value: &Value) -> usize {
    let below = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(held).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| ENTRY + name.len() + held(value)).sum(),
    };
    size_of::<Value>() + below
}

struct Counter(u64);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// For people: whole binary units where it is some, else bytes.
pub fn text(bytes: u64) -> String {
    match bytes {
        0 => "0 bytes".to_owned(),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_the_length_of_the_text() {
        let value = json!({"a": [1, "é\n", null], "b": {"": 0.5}});
        assert_eq!(of(&value), value.to_string().len() as u64);
        let texts = [text(64 << 10), text(1 << 20), text(1000), text(0)];
        assert_eq!(texts, ["64 KiB", "1 MiB", "1000 bytes", "0 bytes"]);
    }

    #[test]
    fn in_memory_every_value_counts() {
        let one = held(&json!(1));
        assert_eq!(held(&json!("abc")), one + 3);
        assert_eq!(held(&json!([null, true, 0.5])), 4 * one);
        assert_eq!(held(&json!({"ab": {"c": "d"}})), 3 * one + 2 * ENTRY + 4);
    }
}
