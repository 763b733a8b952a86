//! How deep JSON nests and how many values it holds, told from its bytes without parsing them into a tree.

/// Deepest nesting of an object that is taken in, the object itself included. `serde_json` goes no further (its limit of
/// 128 is refused), and everybody who walks a parsed object recurses.
pub const DEEPEST: usize = 127;

/// Most values of an object that is taken in: every object, list and scalar counts.
pub const MOST_VALUES: usize = 200_000;

/// What one object of a parsed tree takes: a node of a B-tree has room for eleven fields, however few there are.
const TREE_OBJECT: usize = 640;

/// What any other value of a parsed tree takes, but for its text.
const TREE_VALUE: usize = 32;

/// So many bytes of a text or of a parsed tree are little.
pub(crate) const LITTLE: usize = 64 << 10;

/// The measure of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    /// How many lists and objects lie within each other at the most.
    pub depth: usize,
    /// How many values there are; an empty list or object counts twice.
    pub values: usize,
    /// How many of them are objects.
    pub objects: usize,
    /// Length of the text in bytes.
    pub bytes: usize,
}

impl Shape {
    /// Measures a text that is valid JSON; of another it tells something that means nothing. One pass, no allocation.
    pub fn of(json: &[u8]) -> Self {
        let mut shape = Self { values: 1, bytes: json.len(), ..Self::default() };
        let mut depth = 0_usize;
        let mut bytes = json.iter();
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' => {
                    // To the end of the text: what it holds does not count.
                    while let Some(inner) = bytes.next() {
                        match inner {
                            b'\\' => drop(bytes.next()),
                            b'"' => break,
                            _ => {}
                        }
                    }
                }
                b',' => shape.values += 1,
                b'{' | b'[' => {
                    shape.values += 1;
                    shape.objects += usize::from(*byte == b'{');
                    depth += 1;
                    shape.depth = shape.depth.max(depth);
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        shape
    }

    /// An upper bound of the measure where that is little, else the measure itself. Most objects are small enough, and
    /// counting bytes is many times faster than telling texts from the rest.
    pub fn bound(json: &[u8]) -> Self {
        let [objects, lists, commas] = count(json, [b'{', b'[', b',']);
        let depth = objects + lists;
        let bound = Self { depth, values: 1 + depth + commas, objects, bytes: json.len() };
        if bound.excess().is_none() && bound.tree() < LITTLE { bound } else { Self::of(json) }
    }

    /// Takes in the measure of a value that lies so many levels below; its text counts already.
    pub(crate) fn add(&mut self, inner: Self, below: usize) {
        self.depth = self.depth.max(inner.depth + below);
        self.values += inner.values;
        self.objects += inner.objects;
    }

    /// What its parsed tree takes in memory, in bytes, as near as it need be known.
    pub fn tree(&self) -> usize {
        self.bytes + self.objects * TREE_OBJECT + self.values * TREE_VALUE
    }

    /// Why an object of this measure is not taken in, if it is not.
    pub fn excess(&self) -> Option<Excess> {
        if self.depth > DEEPEST { Some(Excess::Depth) } else { (self.values > MOST_VALUES).then_some(Excess::Values) }
    }
}

/// How often each of these bytes occurs. A compiler makes vector instructions of sums that fit into a byte.
fn count<const N: usize>(bytes: &[u8], wanted: [u8; N]) -> [usize; N] {
    let mut counts = [0; N];
    for bytes in bytes.chunks(usize::from(u8::MAX)) {
        let mut sums = [0_u8; N];
        for byte in bytes {
            for (sum, wanted) in sums.iter_mut().zip(wanted) {
                *sum += u8::from(*byte == wanted);
            }
        }
        for (count, sum) in counts.iter_mut().zip(sums) {
            *count += usize::from(sum);
        }
    }
    counts
}

/// What an object has too much of to be taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// It nests deeper than [`DEEPEST`].
    Depth,
    /// It holds more than [`MOST_VALUES`].
    Values,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_do_not_count() {
        let shape = Shape::of(br#"{"a,[{":"\"],{\\","b":[1,2,{"c":null}]}"#);
        assert_eq!((shape.depth, shape.objects), (3, 2));
        // The object, its two fields, three elements and a field: seven.
        assert_eq!(shape.values, 1 + 3 + 3);
    }

    #[test]
    fn a_bound_is_no_smaller_and_exact_where_that_decides() {
        let texts = format!(r#"{{"a":"{}","b":[{{}}]}}"#, "{,[".repeat(60));
        let nested = format!("{}{}", "[".repeat(DEEPEST + 1), "]".repeat(DEEPEST + 1));
        let flat = format!("[{}]", vec!["{}"; 1000].join(","));
        let commas = format!(r#"{{"a":"{}"}}"#, ",".repeat(25_000));
        assert_eq!(Shape::bound(commas.as_bytes()), Shape::of(commas.as_bytes()), "a long text takes what it takes");
        for text in [r#"{"a":[1,{"b":","}]}"#, &texts, &nested, &flat] {
            let (exact, bound) = (Shape::of(text.as_bytes()), Shape::bound(text.as_bytes()));
            assert_eq!(bound.excess(), exact.excess(), "{text}");
            assert!(bound.depth >= exact.depth && bound.values >= exact.values && bound.objects >= exact.objects);
            assert_eq!(bound.bytes, exact.bytes);
        }
    }

    #[test]
    fn what_is_too_deep_for_the_parser_is_too_deep() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for depth in [DEEPEST - 1, DEEPEST, DEEPEST + 1] {
            let text = nested(depth);
            let parsed = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            assert_eq!(Shape::of(text.as_bytes()).excess().is_none(), parsed, "{depth}");
        }
    }

    #[test]
    fn many_values_are_too_many() {
        let beads = |count: usize| format!("[{}]", vec![r#"{"":0}"#; count].join(","));
        assert_eq!(Shape::of(beads(90_000).as_bytes()).excess(), None);
        assert_eq!(Shape::of(beads(180_000).as_bytes()).excess(), Some(Excess::Values));
        // Each of them takes a node of its own.
        assert!(Shape::of(beads(90_000).as_bytes()).tree() > 60 << 20);
    }
}
