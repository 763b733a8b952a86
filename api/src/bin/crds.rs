//! `crds FOLDER`: writes all CRDs and a kustomization to FOLDER and removes CRDs that no longer exist.
//! `crds --check FOLDER`: changes nothing, names each file that differs, and exits 1 if there is one.

use std::{collections::BTreeMap, env, fs, io, path::Path, process::ExitCode};

use broker_api::crds::HEADER;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (options, folders): (Vec<_>, Vec<_>) = arguments.iter().partition(|argument| argument.starts_with("--"));
    let check = options.iter().any(|option| *option == "--check");
    let ([folder], true) = (folders.as_slice(), options.len() == usize::from(check)) else {
        eprintln!("usage: crds [--check] FOLDER");
        return ExitCode::from(2);
    };
    match run(Path::new(folder), check) {
        Ok(differences) if differences.is_empty() => ExitCode::SUCCESS,
        Ok(differences) => {
            for name in differences {
                eprintln!("{folder}/{name} {}", if check { "is out of date: run `make manifests`" } else { "written" });
            }
            ExitCode::from(u8::from(check))
        }
        Err(error) => {
            eprintln!("{folder}: {error}");
            ExitCode::from(2)
        }
    }
}

/// Names of the files that differ from what they should be; without `check` they are put right.
fn run(folder: &Path, check: bool) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let wanted = broker_api::crds::files()?;
    let found = read(folder)?;
    let mut differences = vec![];
    for (name, text) in &wanted {
        if found.get(name) != Some(text) {
            differences.push(name.clone());
            if !check {
                fs::create_dir_all(folder)?;
                fs::write(folder.join(name), text)?;
            }
        }
    }
    // Only what was generated once is ours to remove.
    let stale = found.iter().filter(|(name, text)| text.starts_with(HEADER) && !wanted.contains_key(*name));
    for (name, _) in stale {
        differences.push(name.clone());
        if !check {
            fs::remove_file(folder.join(name))?;
        }
    }
    Ok(differences)
}

/// The YAML files of a folder by name; none when there is no folder.
fn read(folder: &Path) -> io::Result<BTreeMap<String, String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        other => other?,
    };
    let mut files = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|extension| extension == "yaml") {
            files.insert(name, fs::read_to_string(entry.path())?);
        }
    }
    Ok(files)
}
