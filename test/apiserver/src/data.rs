//! The file that outlives the program.

use std::{fs, io::ErrorKind, path::Path};

use sim::ApiServer;

/// Lets a server hold what the file says, and takes that away: should the program end in another way than by [`leave`], nobody
/// goes on with what was before.
pub(crate) fn take(server: &ApiServer, file: &Path) -> anyhow::Result<()> {
    let saved = match fs::read(file) {
        Ok(saved) => saved,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    server.restore(&serde_json::from_slice(&saved)?).map_err(anyhow::Error::msg)?;
    fs::remove_file(file)?;
    Ok(())
}

/// Writes all that a server holds, whole or not at all.
pub(crate) fn leave(server: &ApiServer, file: &Path) -> anyhow::Result<()> {
    let partial = file.with_extension("partial");
    fs::write(&partial, serde_json::to_vec(&server.saved())?)?;
    fs::rename(&partial, file)?;
    Ok(())
}
