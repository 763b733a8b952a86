//! `cert-check`: checks a certificate as its user would. It is the program in the Job of a Certificate's migration.

use k8s_openapi::jiff::Timestamp;

use crate::proof::prove;

/// Checks that a certificate is for a name, that its key is with it, and that the authority signed it.
#[derive(clap::Args)]
pub struct Args {
    /// Name that it has to be for.
    #[arg(long, env = "FQDN")]
    fqdn: String,
    /// The certificate, PEM.
    #[arg(long, env = "TLS_CRT")]
    tls_crt: String,
    /// Its key, PEM.
    #[arg(long, env = "TLS_KEY", hide_env_values = true)]
    tls_key: String,
    /// The authority's certificate, PEM.
    #[arg(long, env = "CA_CRT")]
    ca_crt: String,
}

/// Checks it, and says what it is.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let texts = [&args.tls_crt, &args.tls_key, &args.ca_crt].map(String::as_bytes);
    let proof = prove(texts[0], texts[1], texts[2], Timestamp::now())?;
    anyhow::ensure!(proof.names == [args.fqdn.as_str()], "it is for {:?}, not for {}", proof.names, args.fqdn);
    println!("a good certificate for {}, issued by {}", args.fqdn, proof.issuer);
    Ok(())
}
