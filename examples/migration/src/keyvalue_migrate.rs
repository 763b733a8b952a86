//! `keyvalue-migrate`: the program in the Jobs of a migration. What it prints last is the result.

use crate::{access::Access, remote::Remote, transfer};
use clap::ValueEnum;

/// Moves the data of one key-value store to another.
#[derive(clap::Args)]
pub struct Args {
    /// What to do.
    step: Step,
    /// Address of the old store.
    #[arg(long, env = "FROM_URL")]
    from_url: String,
    /// Token of the old store.
    #[arg(long, env = "FROM_TOKEN", hide_env_values = true)]
    from_token: String,
    /// Address of the new store.
    #[arg(long, env = "TO_URL")]
    to_url: String,
    /// Token of the new store.
    #[arg(long, env = "TO_TOKEN", hide_env_values = true)]
    to_token: String,
    /// For how many seconds writers of the old store are held off. Longer than the rest of the migration takes.
    #[arg(long, env = "HOLD_SECONDS", default_value_t = 600)]
    hold_seconds: u32,
}

#[derive(Clone, Copy, ValueEnum)]
enum Step {
    /// Hold writers of the old store off, and copy all its entries.
    Copy,
    /// Compare both stores.
    Verify,
    /// Hold writers of the old store off until it goes.
    Seal,
}

/// Takes the step, and prints what came of it.
pub async fn run(args: Args) -> anyhow::Result<()> {
    let old = Remote::new(Access { url: args.from_url, token: args.from_token })?;
    let new = Remote::new(Access { url: args.to_url, token: args.to_token })?;
    let told = match args.step {
        Step::Copy => format!("{} entries copied", transfer::copy(&old, &new, args.hold_seconds).await?),
        Step::Verify => format!("the same {} entries on both sides", transfer::verify(&old, &new).await?),
        Step::Seal => {
            transfer::seal(&old, args.hold_seconds).await?;
            "the old store takes no writes any more".to_owned()
        }
    };
    println!("{told}");
    Ok(())
}
