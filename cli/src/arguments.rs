//! The command line.

use clap::{Parser, Subcommand};

use crate::{
    access::Access,
    completions::{For, Manual},
    doctor::Doctor,
    join::Join,
    leave::Leave,
    moves::{Followed, Migration},
    output::{Output, Printing},
    providers::Provider,
    rebalance::Rebalance,
    rollouts::Rollout,
    schema,
    simulate::Simulate,
    sought::Sought,
    wait::Wait,
};

/// Where objects of a resource broker are, why, and what they wait for.
///
/// kubectl's current context, or the one that --context names, is the coordination cluster. The others are those of its
/// cluster Secrets, and those whose kubeconfigs are given.
#[derive(Debug, Parser)]
#[command(name = "kubectl-broker", bin_name = "kubectl broker", version, max_term_width = 110)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Why an object is where it is, and what it waits for: what the broker decides on what is there now
    Why {
        #[command(flatten)]
        sought: Sought,
        /// How it is printed
        #[arg(short, long, value_enum, default_value = "text")]
        output: Output,
        /// Namespace of the broker's own objects
        #[arg(long, value_name = "NAMESPACE", default_value = "resource-broker-system")]
        broker_namespace: String,
    },
    /// Which provider would take an object, and which children an instance of a graph would have; whether a
    /// ResourceGraphDefinition can be served
    Simulate(Simulate),
    /// What belongs to an object, as a tree over all clusters
    Trace {
        #[command(flatten)]
        sought: Sought,
        /// How it is printed
        #[arg(short, long, value_enum, default_value = "text")]
        output: Output,
        /// Print it again whenever it has changed, until Ctrl-C
        #[arg(short, long)]
        watch: bool,
    },
    /// Where an object and its copy differ, or an instance's children and what its graph makes of it, and who owns what differs
    Diff {
        #[command(flatten)]
        sought: Sought,
        /// How it is printed
        #[arg(short, long, value_enum, default_value = "text")]
        output: Output,
    },
    /// All clusters and whether they can be reached
    Clusters {
        #[command(flatten)]
        printing: Printing,
    },
    /// What providers accept
    #[command(name = "acceptapis", alias = "acceptapi")]
    AcceptApis {
        #[command(flatten)]
        printing: Printing,
    },
    /// Objects of a kind in all consumers: where they are and how they do
    Objects {
        /// Their kind, as kubectl takes it
        kind: String,
        #[command(flatten)]
        printing: Printing,
    },
    /// Moves between providers
    Migrations {
        #[command(flatten)]
        printing: Printing,
        /// Print it again whenever one of them changes
        #[arg(short, long)]
        watch: bool,
    },
    /// ResourceGraphDefinitions
    Graphs {
        #[command(flatten)]
        printing: Printing,
    },
    /// How ResourceGraphDefinitions get to clusters
    Rollouts {
        #[command(flatten)]
        printing: Printing,
    },
    /// A graph's way to clusters: how far it is, and what is asked of it
    Rollout(Rollout),
    /// A provider takes no new objects; those there stay
    Cordon(Provider),
    /// A provider takes objects again, and is no longer drained
    Uncordon(Provider),
    /// All objects of a provider move away
    Drain {
        #[command(flatten)]
        provider: Provider,
        #[command(flatten)]
        wait: Wait,
    },
    /// Objects that would now be placed at a provider move there
    Rebalance(Rebalance),
    /// Moves an object to a provider
    Migrate {
        #[command(flatten)]
        sought: Sought,
        /// The provider
        #[arg(long, value_name = "PROVIDER")]
        to: String,
        /// Namespace of the coordination cluster in which the Migration is made; the object's unless it is given
        #[arg(long, value_name = "NAMESPACE")]
        migration_namespace: Option<String>,
        #[command(flatten)]
        wait: Wait,
    },
    /// A Migration goes no further until it is resumed
    Pause(Migration),
    /// A paused Migration goes on
    Resume(Followed),
    /// A Migration is given up, as far as it can be
    Abort(Followed),
    /// A Migration's failed stage runs once more
    Retry(Followed),
    /// What is not as it should be, in all clusters, and what to do about it
    Doctor(Doctor),
    /// A cluster becomes a consumer, a provider or a spoke
    Join(Join),
    /// A cluster is one of the broker's no longer
    Leave(Leave),
    /// The JSON Schema of what a command prints with `-o json`; without a command, which have one
    Schema {
        /// The command
        #[arg(value_parser = schema::names())]
        command: Option<String>,
    },
    /// A script by which a shell, or kubectl, completes command lines
    Completions {
        /// Who completes
        #[arg(value_enum)]
        shell: For,
    },
    /// Writes manual pages
    Man(Manual),
    /// What may come next, for `kubectl_complete-broker`
    #[command(name = "__complete", hide = true)]
    Complete {
        /// What has been typed behind `kubectl broker`
        #[arg(last = true)]
        words: Vec<String>,
    },
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{fs, path::Path};

    use clap::error::ErrorKind;

    use super::*;

    /// The words of a command as a shell sees them, up to what it is piped into.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), None);
        for letter in line.chars() {
            match (quoted, letter) {
                (Some(quote), _) if quote == letter => quoted = None,
                (None, '"' | '\'') => quoted = Some(letter),
                (None, '|' | '>' | '#' | ')' | ';' | '&') => break,
                (None, ' ') => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
                _ => word.push(letter),
            }
        }
        words.extend((!word.is_empty()).then_some(word));
        words
    }

    /// Each command of this program that a page shows in a block.
    fn shown(page: &str) -> Vec<String> {
        let page = page.replace("\\\n", "").replace("$kind", "Certificate.v1.example.org");
        let blocks = page.split("```").skip(1).step_by(2);
        let lines = blocks.flat_map(|block| block.lines().skip(1)).filter(|line| !line.contains('…'));
        let commands = lines.filter_map(|line| {
            let at = line.find("kubectl broker ")?;
            // What a command says may speak of others.
            let before = line[..at].trim_end();
            let is_command = ["", "$", "source <("].contains(&before);
            is_command.then(|| line[at..].replacen("kubectl broker", "kubectl-broker", 1))
        });
        commands.collect()
    }

    #[test]
    fn each_command_that_the_docs_show_is_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let docs = fs::read_dir(root.join("docs")).unwrap().map(|page| page.unwrap().path());
        let pages = docs.chain([root.join("README.md")]).filter(|path| path.extension().is_some_and(|end| end == "md"));
        let mut all = 0;
        for page in pages {
            for command in shown(&fs::read_to_string(&page).unwrap()) {
                all += 1;
                if let Err(error) = Arguments::try_parse_from(words(&command)) {
                    assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{}: {command}: {error}", page.display());
                }
            }
        }
        assert!(all > 20, "{all} commands were found");
    }

    /// What `cli/krew.sh` makes for these platforms: the manifest, and the archives beside it.
    fn packed(platforms: &[&str]) -> (serde_json::Value, tempfile::TempDir) {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let out = tempfile::tempdir().unwrap();
        // Which program it is makes no difference.
        let of = |platform: &&str| format!("{platform}={}", here.join("krew.yaml").display());
        let mut pack = std::process::Command::new(here.join("krew.sh"));
        pack.args(platforms.iter().map(of)).env("KREW_OUT", out.path()).env("URL", "https://example.org/releases");
        let packed = pack.output().unwrap();
        assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
        let manifest = fs::read_to_string(out.path().join("broker.yaml")).unwrap();
        assert!(!manifest.contains('$'), "{manifest}");
        (serde_saphyr::from_str(&manifest).unwrap(), out)
    }

    /// What krew asks of a manifest (<https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/>).
    #[test]
    fn krew_is_given_an_archive_for_each_platform_and_a_manifest_of_those() {
        const ALL: [&str; 4] = ["linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"];
        let version = env!("CARGO_PKG_VERSION");
        let (manifest, out) = packed(&ALL);
        assert_eq!(manifest["apiVersion"], "krew.googlecontainertools.github.com/v1alpha2");
        let (kind, spec) = (&manifest["kind"], &manifest["spec"]);
        assert_eq!((kind, &manifest["metadata"]["name"]), (&"Plugin".into(), &"broker".into()));
        assert_eq!(spec["version"], format!("v{version}"));
        let short = spec["shortDescription"].as_str().unwrap();
        assert!(short.len() <= 50 && !short.ends_with('.'), "{} letters: {short}", short.len());
        assert!(["description", "homepage", "caveats"].iter().all(|field| spec[field].is_string()), "{spec}");
        let platforms = spec["platforms"].as_array().unwrap();
        assert_eq!(platforms.len(), ALL.len());
        for (platform, name) in platforms.iter().zip(ALL) {
            let labels = &platform["selector"]["matchLabels"];
            assert_eq!(format!("{}_{}", labels["os"].as_str().unwrap(), labels["arch"].as_str().unwrap()), name);
            let archive = format!("kubectl-broker_v{version}_{name}.tar.gz");
            assert_eq!(platform["uri"], format!("https://example.org/releases/{archive}"));
            assert_eq!(platform["bin"], env!("CARGO_BIN_NAME"));
            let archive = out.path().join(archive);
            let sum = std::process::Command::new("sha256sum").arg(&archive).output().unwrap();
            let sum = String::from_utf8(sum.stdout).unwrap();
            assert_eq!(platform["sha256"].as_str(), sum.split(' ').next(), "{platform}");
            let listed = std::process::Command::new("tar").arg("tzf").arg(archive).output().unwrap();
            assert_eq!(listed.stdout, b"kubectl-broker\nLICENSE\n");
        }
        let (one, _out) = packed(&ALL[1..2]);
        let platforms = one["spec"]["platforms"].as_array().unwrap();
        assert!(platforms.len() == 1 && platforms[0]["selector"]["matchLabels"]["arch"] == "arm64", "{one}");
    }
}
