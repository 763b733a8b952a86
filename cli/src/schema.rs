//! The JSON Schemas of what commands print with `-o json` (draft 2020-12), made of the very types that are printed. They are
//! kept in `cli/schemas`. A field that is there stays and keeps its type; others may come.

use anyhow::Context as _;
use clap::builder::PossibleValuesParser;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};

use crate::{
    diff::Diff,
    doctor::Report,
    programs::json,
    rows::{AcceptApiRow, ClusterRow, GraphRow, MigrationRow, ObjectRow, RolloutRow},
    simulate::Simulated,
    table::Items,
    tree::Node,
    why::Why,
};

/// Makes the schema of a type.
type MakeSchema = fn() -> Schema;

/// Each command that prints JSON, and its schema.
const COMMANDS: [(&str, MakeSchema); 11] = [
    ("acceptapis", of::<Items<AcceptApiRow>>),
    ("clusters", of::<Items<ClusterRow>>),
    ("diff", of::<Diff>),
    ("doctor", of::<Report>),
    ("graphs", of::<Items<GraphRow>>),
    ("migrations", of::<Items<MigrationRow>>),
    ("objects", of::<Items<ObjectRow>>),
    ("rollouts", of::<Items<RolloutRow>>),
    ("simulate", of::<Simulated>),
    ("trace", of::<Node>),
    ("why", of::<Why>),
];

fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// The commands that print JSON.
pub(crate) fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(COMMANDS.map(|(name, _)| name))
}

/// The schema of a command; without one the names of all.
pub(crate) fn tell(command: Option<&str>) -> anyhow::Result<String> {
    let Some(command) = command else {
        return Ok(COMMANDS.map(|(name, _)| name).join("\n") + "\n");
    };
    let found = COMMANDS.iter().find(|(name, _)| *name == command);
    let (_, schema) = found.with_context(|| format!("{command} prints no JSON"))?;
    json(&schema())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{collections::BTreeMap, fs, path::Path};

    use clap::CommandFactory as _;

    use super::*;
    use crate::{
        arguments::Arguments,
        table::{Column, Row},
    };

    /// What is kept, by the name of the command.
    fn kept(folder: &Path) -> BTreeMap<String, String> {
        let files = fs::read_dir(folder).into_iter().flatten().map(|file| file.unwrap().path());
        let named = files.map(|file| {
            let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(&file).unwrap())
        });
        named.collect()
    }

    /// As with what is said in end-to-end tests, `UPDATE_SAID=1` keeps the schemas as they are now.
    #[test]
    fn what_is_kept_is_what_the_types_say() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
        if std::env::var_os("UPDATE_SAID").is_some() {
            fs::create_dir_all(&folder).unwrap();
            for (name, _) in COMMANDS {
                fs::write(folder.join(name).with_extension("json"), tell(Some(name)).unwrap()).unwrap();
            }
        }
        let now = BTreeMap::from(COMMANDS.map(|(name, _)| (name.to_owned(), tell(Some(name)).unwrap())));
        assert!(kept(&folder) == now, "cli/schemas is not what the types say: UPDATE_SAID=1 keeps what they say now");
    }

    #[test]
    fn each_command_that_takes_an_output_has_a_schema() {
        let all = Arguments::command();
        let with_output =
            all.get_subcommands().filter(|command| command.get_arguments().any(|arg| arg.get_id() == "output"));
        let mut names: Vec<&str> = with_output.map(clap::Command::get_name).collect();
        names.sort_unstable();
        assert_eq!(names, COMMANDS.map(|(name, _)| name));
    }

    /// Each column shows a field, and each field has a column.
    fn shows_all<R: Row>() {
        let mut shown: Vec<String> = R::COLUMNS.iter().map(Column::field).collect();
        shown.sort();
        let schema = of::<R>();
        let mut fields: Vec<&String> = schema.get("properties").unwrap().as_object().unwrap().keys().collect();
        fields.sort();
        assert_eq!(shown.iter().collect::<Vec<_>>(), fields);
        assert_eq!(schema.get("required").unwrap().as_array().unwrap().len(), fields.len(), "null is told");
    }

    #[test]
    fn columns_are_fields() {
        shows_all::<AcceptApiRow>();
        shows_all::<ClusterRow>();
        shows_all::<GraphRow>();
        shows_all::<MigrationRow>();
        shows_all::<ObjectRow>();
        shows_all::<RolloutRow>();
    }
}
