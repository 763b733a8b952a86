//! Sequences that nobody thought of.

use std::env;

use serde_json::{Value, json};

use crate::sequence::{
    GADGETS, JSON, LAST, MAPS, PARTIAL_LIST, SECRETS, Sequence, WIDGETS, at, gadget, map, secret, sequence, widget,
};

fn number(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

pub(crate) fn sequences() -> Vec<Sequence> {
    let (seed, count) = (number("SIM_SEED", 1), number("SIM_SEQUENCES", 100));
    (seed..seed + count)
        .map(|seed| Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)).sequence(&format!("seed {seed}")))
        .collect()
}

/// A small generator, the same everywhere.
struct Dice(u64);

/// What sequences are about.
#[derive(Clone, Copy)]
enum Kind {
    Map,
    Secret,
    Widget,
    Gadget,
}

impl Kind {
    fn path(self) -> &'static str {
        match self {
            Self::Map => MAPS,
            Self::Secret => SECRETS,
            Self::Widget => WIDGETS,
            Self::Gadget => GADGETS,
        }
    }

    fn plural(self) -> &'static str {
        self.path().rsplit('/').next().unwrap()
    }
}

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let at = usize::try_from(self.below(from.len() as u64)).unwrap();
        from[at].clone()
    }

    fn some(&mut self, from: &[&str]) -> Vec<String> {
        from.iter().filter(|_| self.one_in(2)).map(|name| (*name).to_owned()).collect()
    }

    /// Fields of an object, all of which are declared.
    fn fields(&mut self, kind: Kind) -> Value {
        match kind {
            Kind::Map => json!({"data": self.entries()}),
            Kind::Secret => {
                let name = if self.one_in(3) { "stringData" } else { "data" };
                let entries = self.some(&["a", "b", "c"]);
                let value = self.pick(&["eA==", "eQ=="]);
                json!({name: entries.into_iter().map(|name| (name, json!(value))).collect::<serde_json::Map<_, _>>()})
            }
            Kind::Widget => {
                let mut spec = json!({});
                for _ in 0..=self.below(4) {
                    let (name, value) = self.field();
                    spec[name] = value;
                }
                if self.one_in(4) { json!({"spec": spec, "status": {"phase": "p"}}) } else { json!({"spec": spec}) }
            }
            Kind::Gadget => {
                let mut spec = json!({});
                if !self.one_in(4) {
                    spec["size"] = json!(self.below(4));
                }
                if self.one_in(2) {
                    spec["mode"] = json!(self.pick(&["x", "y"]));
                }
                if self.one_in(3) {
                    spec["inner"] = if self.one_in(4) { json!({}) } else { json!({"key": self.pick(&["k", "l"])}) };
                }
                json!({"spec": spec, "status": {"phase": self.pick(&["p", "q"])}})
            }
        }
    }

    fn entries(&mut self) -> Value {
        let names = self.some(&["a", "b", "c"]);
        names.into_iter().map(|name| (name, json!(self.pick(&["1", "2"])))).collect::<serde_json::Map<_, _>>().into()
    }

    fn field(&mut self) -> (&'static str, Value) {
        match self.below(12) {
            0 => ("size", json!(self.pick(&[1, 2, 200]))),
            1 => ("color", json!(self.pick(&["red", "blue", "black"]))),
            2 => ("name", json!(self.pick(&["x", "y"]))),
            3 => ("note", json!(self.pick(&["n", "m"]))),
            4 => ("tags", json!(self.some(&["a", "b", "c", "d"]))),
            5 => {
                let ports = self.some(&["1", "2", "3"]);
                let port = |dice: &mut Self, port: String| {
                    let mut port = json!({"port": port.parse::<u64>().unwrap()});
                    if dice.one_in(2) {
                        port["label"] = json!(dice.pick(&["x", "y"]));
                    }
                    if dice.one_in(3) {
                        port["protocol"] = json!("UDP");
                    }
                    port
                };
                ("ports", ports.into_iter().map(|one| port(self, one)).collect())
            }
            6 => {
                ("items", self.some(&["1", "2"]).into_iter().map(|x| json!({"x": x.parse::<u64>().unwrap()})).collect())
            }
            7 => ("labels", self.entries()),
            8 => {
                let names = self.some(&["k", "l"]);
                let things = names
                    .into_iter()
                    .map(|name| (name, if self.one_in(3) { json!({}) } else { json!({"a": self.below(2), "b": "x"}) }));
                ("things", things.collect::<serde_json::Map<_, _>>().into())
            }
            9 => ("settings", json!({"mode": self.pick(&["x", "y"]), "level": self.below(2)})),
            10 => ("nested", json!({"deep": {"value": self.pick(&["x", "y"])}})),
            _ => ("free", json!({"f": {"g": self.pick(&["x", "y"])}, "h": [self.below(2)]})),
        }
    }

    fn metadata(&mut self, name: &str) -> Value {
        let mut metadata = json!({"name": name});
        if self.one_in(2) {
            metadata["labels"] = self.entries();
        }
        if self.one_in(5) {
            metadata["annotations"] = self.entries();
        }
        if self.one_in(4) {
            metadata["finalizers"] = json!(self.some(&["example.org/a", "example.org/b"]));
        }
        metadata
    }

    fn object(&mut self, kind: Kind, name: &str) -> Value {
        let (metadata, fields) = (self.metadata(name), self.fields(kind));
        let of = |mut object: Value| {
            for (name, value) in fields.as_object().unwrap() {
                object[name] = value.clone();
            }
            object
        };
        match kind {
            Kind::Map => of(map(metadata, json!({}))),
            Kind::Secret => of(secret(metadata, json!({}))),
            Kind::Widget => of(widget(metadata, json!({}))),
            Kind::Gadget => of(gadget(metadata, json!({}))),
        }
    }

    /// A patch: what an object could say, some of it null.
    fn patch(&mut self, kind: Kind, name: &str) -> Value {
        let mut patch = self.object(kind, name);
        for part in ["kind", "apiVersion"] {
            patch.as_object_mut().unwrap().remove(part);
        }
        for part in ["spec", "data"] {
            for (_, value) in patch[part].as_object_mut().into_iter().flatten() {
                if self.one_in(3) {
                    *value = Value::Null;
                }
            }
            if patch[part].is_null() {
                patch.as_object_mut().unwrap().remove(part);
            }
        }
        self.condition(kind, name, &mut patch);
        patch
    }

    /// Sometimes it is only for a certain version, or a certain object.
    fn condition(&mut self, kind: Kind, name: &str, body: &mut Value) {
        let reference = |pointer: &str| json!(format!("${{{}/{name}#/metadata/{pointer}}}", kind.plural()));
        if self.one_in(3) {
            body["metadata"]["resourceVersion"] = reference("resourceVersion");
        } else if self.one_in(4) {
            body["metadata"]["uid"] = reference("uid");
        }
    }

    fn sequence(&mut self, name: &str) -> Sequence {
        // The first numbers follow the seed too closely.
        for _ in 0..8 {
            self.below(2);
        }
        let kinds = [Kind::Map, Kind::Secret, Kind::Widget, Kind::Widget, Kind::Gadget];
        let watched = self.pick(&kinds);
        let selector = self.pick(&["", "", "&labelSelector=a", "&labelSelector=b=1", "&labelSelector=!c"]);
        let mut all = sequence(name).get(watched.path());
        let watch = format!(
            "{}?watch=1&timeoutSeconds=300&resourceVersion=${{0#/metadata/resourceVersion}}{selector}",
            watched.path()
        );
        all = all.watch("w", watch);
        for _ in 0..12 + self.below(16) {
            let kind = if self.one_in(3) { self.pick(&kinds) } else { watched };
            let name = self.pick(&["x", "y"]);
            all = self.step(all, kind, name);
        }
        let mut last = match watched {
            Kind::Map => map(json!({"name": LAST}), json!({})),
            Kind::Secret => secret(json!({"name": LAST}), json!({})),
            Kind::Widget => widget(json!({"name": LAST}), json!({})),
            Kind::Gadget => gadget(json!({"name": LAST}), json!({"spec": {"size": 1}})),
        };
        last["metadata"]["labels"] = json!({"a": "1", "b": "1"});
        all.told("w", watched.path(), last)
    }

    fn step(&mut self, all: Sequence, kind: Kind, name: &str) -> Sequence {
        let (path, manager) = (at(kind.path(), name), self.pick(&["one", "two"]));
        match self.below(20) {
            0..=3 => all.post(kind.path(), self.object(kind, name)),
            4 | 5 => {
                let mut object = self.object(kind, name);
                object["metadata"]["resourceVersion"] =
                    json!(format!("${{{}/{name}#/metadata/resourceVersion}}", kind.plural()));
                if self.one_in(6) {
                    object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
                }
                all.put(&path, object)
            }
            6..=8 => all.merge(&path, self.patch(kind, name)),
            9 | 10 => {
                let mut status = json!({"status": {"phase": self.pick(&["p", "q", "r"]), "count": self.below(3)}});
                self.condition(kind, name, &mut status);
                all.merge(&format!("{path}/status"), status)
            }
            11..=15 => {
                let mut object = self.object(kind, name);
                self.condition(kind, name, &mut object);
                if self.one_in(2) { all.force(&path, manager, object) } else { all.apply(&path, manager, object) }
            }
            16 => {
                let mut options = json!({"propagationPolicy": "Background"});
                if self.one_in(2) {
                    options["preconditions"] = json!({"uid": format!("${{{}/{name}#/metadata/uid}}", kind.plural())});
                }
                all.delete_with(&path, options)
            }
            17 => all
                .merge(&path, json!({"metadata": {"finalizers": self.pick(&[json!(null), json!(["example.org/a"])])}})),
            18 => {
                let query = self.pick(&[
                    "limit=1",
                    "labelSelector=a",
                    "labelSelector=b%20in%20(1,2)&limit=1",
                    "fieldSelector=metadata.name=x",
                ]);
                all.get_as(format!("{}?{query}", kind.path()), self.pick(&[JSON, PARTIAL_LIST]))
            }
            _ => all.get(path),
        }
    }
}
