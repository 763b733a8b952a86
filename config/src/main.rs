//! `manifests FOLDER`: writes what is generated in `config/`, and the pages in `docs/kinds/` beside it, and removes what no
//! longer is.
//! `manifests --check FOLDER`: changes nothing, names each file that differs, and exits 1 if there is one.

use std::{env, path::Path, process::ExitCode};

use manifests::folder;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (check, path) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--check", path] => (true, path),
        [path] if !path.starts_with('-') => (false, path),
        _ => {
            eprintln!("usage: manifests [--check] FOLDER");
            return ExitCode::from(2);
        }
    };
    let done = if check { folder::differences(Path::new(path)) } else { folder::write(Path::new(path)) };
    match done {
        Ok(differences) => {
            for name in &differences {
                eprintln!("{path}/{name} {}", if check { "is out of date: run `make manifests`" } else { "written" });
            }
            ExitCode::from(u8::from(check && !differences.is_empty()))
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
