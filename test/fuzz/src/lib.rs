//! What is done with each input of a fuzzer: what strangers write is read as the product reads it, and then must hold what
//! is promised of it, beyond that nothing panics.
//!
//! `libfuzzer/` drives these functions (`make fuzz`); the tests go once through what was kept of it, `corpus/`.

mod expression;
mod filter;
mod graph;
mod graph_expression;
mod kubeconfig;
mod object;
mod patience;
mod simple_schema;
mod structural;
mod template;
mod text;

/// A kind of input, and what is done with one.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name; that of the folder of its inputs, too.
    pub name: &'static str,
    /// Takes one input. It panics where something does not hold.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: [Target; 9] = [
    Target { name: "expression", run: |data| on_text(data, expression::run) },
    Target { name: "filter", run: filter::run },
    Target { name: "graph", run: graph::run },
    Target { name: "graph-expression", run: |data| on_text(data, graph_expression::run) },
    Target { name: "kubeconfig", run: |data| on_text(data, kubeconfig::run) },
    Target { name: "object", run: object::run },
    Target { name: "simple-schema", run: simple_schema::run },
    Target { name: "template", run: template::run },
    Target { name: "text", run: |data| on_text(data, text::run) },
];

/// All that is read here comes as text.
fn on_text(data: &[u8], run: fn(&str)) {
    if let Ok(text) = std::str::from_utf8(data) {
        run(text);
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    /// What was found once is found again.
    #[test]
    fn what_was_kept_holds() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        for Target { name, run } in TARGETS {
            let inputs = fs::read_dir(corpus.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut count = 0;
            for input in inputs {
                let path = input.unwrap().path();
                println!("{}", path.display());
                run(&fs::read(path).unwrap());
                count += 1;
            }
            assert!(count > 0, "{name} has no inputs");
        }
    }
}
