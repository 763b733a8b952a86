//! Kubeconfigs of strangers: one that is accepted runs nothing, reads nothing, is nobody else, and talks TLS to a server
//! that may be talked to. What it says is looked at in the configuration that a client is made of.

use std::net::IpAddr;

use runtime_fleet::kubeconfig::{Kubeconfig, KubeconfigError, Trust, forbidden_address};

pub(crate) fn run(text: &str) {
    let file = Trust::File { folder: "/etc/clusters".into(), allow_local: false };
    let (secret, file) = (Kubeconfig::parse(text, &Trust::Secret), Kubeconfig::parse(text, &file));
    let kubeconfig = match (secret, file) {
        (Ok(kubeconfig), Ok(same)) => {
            assert_eq!(kubeconfig.fingerprint(), same.fingerprint(), "a file is read otherwise");
            kubeconfig
        }
        (Err(error), Err(_)) => return check(&error),
        (one, other) => panic!("of a Secret {one:?}, of a file {other:?}"),
    };
    assert_eq!(kubeconfig.files().count(), 0);
    assert_eq!(kubeconfig.way().endpoint, kubeconfig.endpoint());
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let config = runtime.map(|runtime| runtime.block_on(kubeconfig.config()));
    match config {
        Ok(Ok(config)) => safe(&config),
        Ok(Err(error)) => check(&error),
        Err(error) => panic!("no runtime: {error}"),
    }
}

fn check(error: &KubeconfigError) {
    let told = error.to_string();
    assert!(told.len() < 1000 && !told.chars().any(char::is_control), "{told:?}");
}

fn safe(config: &kube::Config) {
    let user = &config.auth_info;
    assert!(user.exec.is_none() && user.auth_provider.is_none(), "it runs a program");
    let files = [&user.token_file, &user.client_certificate, &user.client_key];
    assert!(files.iter().all(|file| file.is_none()) && config.root_cert_file.is_none(), "it reads a file");
    let others = [&user.impersonate, &user.impersonate_uid];
    assert!(others.iter().all(|other| other.is_none()), "it is somebody else");
    assert!(user.impersonate_groups.is_none() && user.impersonate_user_extra.is_none(), "it is somebody else");
    assert!(!config.accept_invalid_certs, "it gives up on TLS");
    assert_eq!(config.cluster_url.scheme_str(), Some("https"), "{}", config.cluster_url);
    for url in [Some(&config.cluster_url), config.proxy_url.as_ref()].into_iter().flatten() {
        let host = url.host().unwrap_or_default().trim_matches(['[', ']']).trim_end_matches('.');
        assert!(!host.is_empty(), "{url} has no host");
        assert!(!host.parse::<IpAddr>().is_ok_and(forbidden_address), "{url} must not be talked to");
        assert!(!host.eq_ignore_ascii_case("metadata.google.internal"), "{url} must not be talked to");
    }
}
