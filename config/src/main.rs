//! `manifests [--check] FOLDER`: writes what is generated in `config/`, or says what is out of date.

fn main() {}
