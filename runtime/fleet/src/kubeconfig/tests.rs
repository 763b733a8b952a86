//! One test per rule on kubeconfigs.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{fmt::Write, net::IpAddr};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::*;

/// In every kubeconfig below; must be in no message.
const TOKEN: &str = "sesame-open-0123456789";

fn file() -> Trust {
    Trust::File { folder: "/etc/clusters".into(), allow_local: false }
}

fn opted_in() -> Trust {
    Trust::File { folder: "/etc/clusters".into(), allow_local: true }
}

fn pem() -> String {
    STANDARD.encode("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
}

fn document() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://api.example.org:6443"}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
    })
}

fn with_user(field: &str, value: Value) -> Value {
    let mut document = document();
    document["users"][0]["user"][field] = value;
    document
}

fn with_cluster(field: &str, value: Value) -> Value {
    let mut document = document();
    document["clusters"][0]["cluster"][field] = value;
    document
}

fn parse(document: &Value, trust: &Trust) -> Result<Kubeconfig, KubeconfigError> {
    Kubeconfig::parse(&document.to_string(), trust)
}

/// The message of a refusal, after checking that it gives nothing away.
fn refusal(document: &Value, trust: &Trust) -> String {
    let error = parse(document, trust).expect_err("must be refused");
    let message = format!("{error} {error:?}");
    assert!(!message.contains(TOKEN), "{message}");
    error.to_string()
}

fn server(url: &str) -> Value {
    with_cluster("server", json!(url))
}

#[test]
fn a_plain_one_is_taken_from_everywhere() {
    for trust in [Trust::Secret, file(), opted_in()] {
        let kubeconfig = parse(&document(), &trust).unwrap();
        assert_eq!(kubeconfig.server(), "https://api.example.org:6443");
        assert_eq!(kubeconfig.files().count(), 0);
        assert!(!format!("{kubeconfig:?} {:?}", kubeconfig.fingerprint()).contains(TOKEN));
    }
}

#[test]
fn too_large() {
    let text = format!("# {}\n{}", "x".repeat(MAX_BYTES), document());
    let error = Kubeconfig::parse(&text, &file()).unwrap_err();
    assert!(matches!(error, KubeconfigError::TooLarge { bytes } if bytes == text.len()), "{error}");
}

#[test]
fn broken_yaml_is_located_and_not_quoted() {
    let text = format!("users:\n- name: u\n  user:\n    token: {TOKEN}\n   bad: [\n");
    let error = Kubeconfig::parse(&text, &Trust::Secret).unwrap_err();
    assert!(matches!(error, KubeconfigError::Yaml { line: 4..=6, .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains(TOKEN));
}

#[test]
fn wrong_types_are_not_quoted() {
    for text in [TOKEN.to_owned(), format!("clusters: {TOKEN}"), format!("users: [{{name: u, user: {TOKEN}}}]")] {
        let error = Kubeconfig::parse(&text, &Trust::Secret).unwrap_err();
        assert!(matches!(error, KubeconfigError::Yaml { line: 1, .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains(TOKEN));
    }
}

#[test]
fn alias_bombs_are_stopped() {
    let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 9].join(",");
        writeln!(text, "a{level}: &a{level} [{items}]").unwrap();
    }
    assert!(matches!(Kubeconfig::parse(&text, &Trust::Secret), Err(KubeconfigError::Yaml { .. })));
}

#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    for open in ["[", "{a: "] {
        let text = format!("extensions: {}", open.repeat(MAX_BYTES / 5));
        assert!(matches!(Kubeconfig::parse(&text, &Trust::Secret), Err(KubeconfigError::Yaml { .. })));
    }
    let closed = format!("x: {}{}", "[".repeat(5000), "]".repeat(5000));
    assert!(Kubeconfig::parse(&closed, &Trust::Secret).is_err());
}

#[test]
fn duplicate_keys_are_not_taken_silently() {
    let text = document().to_string().replacen('{', r#"{"current-context": "other","#, 1);
    assert!(matches!(Kubeconfig::parse(&text, &Trust::Secret), Err(KubeconfigError::Yaml { .. })));
}

#[test]
fn no_current_context() {
    let mut document = document();
    document["current-context"] = json!("");
    assert!(refusal(&document, &file()).contains("current-context is not set"));
    document.as_object_mut().unwrap().remove("current-context");
    assert!(refusal(&document, &file()).contains("current-context is not set"));
}

#[test]
fn unknown_context_cluster_and_user() {
    let mut unknown = document();
    unknown["current-context"] = json!("other");
    assert_eq!(
        refusal(&unknown, &file()),
        "current-context names \"other\", which is not in contexts: add it or correct the name"
    );
    let mut unknown = document();
    unknown["contexts"][0]["context"]["cluster"] = json!("other");
    assert!(refusal(&unknown, &file()).starts_with("contexts[main].context.cluster names \"other\""));
    let mut unknown = document();
    unknown["contexts"][0]["context"]["user"] = json!("other");
    assert!(refusal(&unknown, &file()).starts_with("contexts[main].context.user names \"other\""));
}

#[test]
fn local_credentials_need_a_file_and_the_opt_in() {
    let cases = [
        (with_user("exec", json!({"command": "./login"})), "users[u].user.exec"),
        (with_user("auth-provider", json!({"name": "gcp"})), "users[u].user.auth-provider"),
        (with_user("tokenFile", json!("token")), "users[u].user.tokenFile"),
        (with_user("client-certificate", json!("tls.crt")), "users[u].user.client-certificate"),
        (with_user("client-key", json!("tls.key")), "users[u].user.client-key"),
        (with_cluster("certificate-authority", json!("ca.crt")), "clusters[c].cluster.certificate-authority"),
        (with_cluster("insecure-skip-tls-verify", json!(true)), "clusters[c].cluster.insecure-skip-tls-verify"),
        (with_user("as", json!("system:admin")), "users[u].user.as"),
        (with_user("as-uid", json!("0")), "users[u].user.as-uid"),
        (with_user("as-groups", json!(["system:masters"])), "users[u].user.as-groups"),
        (with_user("as-user-extra", json!({"scopes": ["all"]})), "users[u].user.as-user-extra"),
    ];
    for (mut document, field) in cases {
        for (trust, remedy) in [(Trust::Secret, "inline"), (file(), "--allow-local-credentials")] {
            let message = refusal(&document, &trust);
            assert!(message.starts_with(&format!("{field} is refused")), "{message}");
            assert!(message.contains(remedy), "{message}");
        }
        // A pair is complete with its other half.
        let user = &mut document["users"][0]["user"];
        if user.get("client-certificate").is_some() || user.get("client-key").is_some() {
            user["client-certificate"] = json!("tls.crt");
            user["client-key"] = json!("tls.key");
        }
        assert!(parse(&document, &opted_in()).is_ok(), "{field} with the opt-in");
    }
}

#[test]
fn what_the_current_context_does_not_use_does_not_matter() {
    let mut document = document();
    let other = json!({"name": "other", "user": {"exec": {"command": "login"}}});
    document["users"].as_array_mut().unwrap().push(other);
    assert!(parse(&document, &Trust::Secret).is_ok());
}

#[test]
fn empty_texts_mean_not_set() {
    for field in ["tokenFile", "client-certificate", "client-key", "client-key-data", "as"] {
        assert!(parse(&with_user(field, json!("")), &Trust::Secret).is_ok(), "{field}");
    }
    assert!(parse(&with_cluster("certificate-authority", json!("")), &Trust::Secret).is_ok());
    assert!(parse(&with_cluster("insecure-skip-tls-verify", json!(false)), &Trust::Secret).is_ok());
}

#[test]
fn relative_paths_start_at_the_files_folder() {
    let mut document = with_user("client-certificate", json!("pki/tls.crt"));
    document["users"][0]["user"]["client-key"] = json!("/run/tls.key");
    document["users"][0]["user"]["exec"] = json!({"command": "bin/login"});
    let kubeconfig = parse(&document, &opted_in()).unwrap();
    assert_eq!(kubeconfig.files().collect::<Vec<_>>(), ["/etc/clusters/pki/tls.crt", "/run/tls.key"]);
    assert_eq!(kubeconfig.user.exec.unwrap().command.unwrap(), "/etc/clusters/bin/login");

    let looked_up = parse(&with_user("exec", json!({"command": "aws"})), &opted_in()).unwrap();
    assert_eq!(looked_up.user.exec.unwrap().command.unwrap(), "aws");
}

#[test]
fn data_must_be_base64_of_pem() {
    let secret = STANDARD.encode(TOKEN);
    for (field, document) in [
        ("users[u].user.client-key-data", with_user("client-key-data", json!(secret))),
        ("users[u].user.client-certificate-data", with_user("client-certificate-data", json!("%%%"))),
        ("clusters[c].cluster.certificate-authority-data", with_cluster("certificate-authority-data", json!("%%%"))),
    ] {
        let message = refusal(&document, &Trust::Secret);
        assert!(message.starts_with(&format!("{field} is not usable")), "{message}");
        assert!(!message.contains(&secret), "{message}");
    }
}

/// Parsers quote such a line, which is the whole key.
#[test]
fn a_key_whose_line_breaks_were_lost_is_told_by_its_field() {
    for breaks in [" ", ""] {
        let key = format!("-----BEGIN PRIVATE KEY-----\n{TOKEN}\n-----END PRIVATE KEY-----\n").replace('\n', breaks);
        let mut document = with_user("client-key-data", json!(STANDARD.encode(key)));
        document["users"][0]["user"]["client-certificate-data"] = json!(pem());
        let message = refusal(&document, &Trust::Secret);
        assert!(message.starts_with("users[u].user.client-key-data is not usable"), "{message}");
    }
}

#[test]
fn half_a_key_pair() {
    let message = refusal(&with_user("client-certificate-data", json!(pem())), &Trust::Secret);
    assert!(message.contains("client-key-data") && message.contains("no key"), "{message}");
    let message = refusal(&with_user("client-key-data", json!(pem())), &Trust::Secret);
    assert!(message.contains("client-certificate-data") && message.contains("no certificate"), "{message}");
}

#[test]
fn a_token_with_a_newline() {
    let message = refusal(&with_user("token", json!(format!("{TOKEN}\n"))), &Trust::Secret);
    assert!(message.starts_with("users[u].user.token is not usable"), "{message}");
}

#[test]
fn the_server_must_be_https() {
    for url in
        ["http://api.example.org", "ftp://api.example.org", "api.example.org:6443", "/var/run/api.sock", "", "::"]
    {
        let message = refusal(&server(url), &opted_in());
        assert!(message.starts_with("clusters[c].cluster.server is refused") && message.contains("https"), "{message}");
    }
}

#[test]
fn http_only_on_loopback_with_the_opt_in() {
    for url in ["http://127.0.0.1:8001", "http://localhost:8001", "http://[::1]:8001"] {
        assert!(parse(&server(url), &opted_in()).is_ok(), "{url}");
        assert!(refusal(&server(url), &file()).contains("use https"));
        assert!(refusal(&server(url), &Trust::Secret).contains("use https"));
    }
}

#[test]
fn no_password_in_a_url() {
    let message = refusal(&server(&format!("https://admin:{TOKEN}@api.example.org")), &opted_in());
    assert!(message.contains("user name or password"), "{message}");
}

#[test]
fn link_local_and_metadata_servers_and_proxies() {
    for host in [
        "169.254.169.254",
        "169.254.169.254.",
        "169.254.0.1:6443",
        "100.100.100.200",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[FD00:EC2:0::254]",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[::169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "metadata.google.internal",
        "Metadata.Google.Internal.",
        "metadata",
        "METADATA:80",
    ] {
        for trust in [Trust::Secret, file(), opted_in()] {
            let message = refusal(&server(&format!("https://{host}/x")), &trust);
            assert!(message.contains("metadata service"), "{host}: {message}");
            let message = refusal(&with_cluster("proxy-url", json!(format!("http://{host}"))), &trust);
            assert!(message.starts_with("clusters[c].cluster.proxy-url is refused"), "{host}: {message}");
        }
    }
}

#[test]
fn unusual_spellings_of_addresses() {
    for host in [
        "2852039166",
        "0xa9fea9fe",
        "0xA9.0xFE.0xA9.0xFE",
        "0251.0376.0251.0376",
        "169.254.43518",
        "169.16689662",
        "127.1",
        "0x7f.1.",
        "010.0.0.1",
    ] {
        for trust in [Trust::Secret, opted_in()] {
            let message = refusal(&server(&format!("https://{host}:6443")), &trust);
            assert!(message.contains("unusual spelling"), "{host}: {message}");
        }
    }
    for url in ["https://[fe80::1%25eth0]", "https://169%2e254.169.254", "https://１６９.254.169.254"] {
        refusal(&server(url), &opted_in());
    }
}

#[test]
fn ordinary_hosts_pass() {
    for host in [
        "10.0.0.1",
        "192.168.1.2:6443",
        "127.0.0.1:6443",
        "[fd00::1]:6443",
        "a.example",
        "0x.example",
        "metadata.example.org",
    ] {
        assert!(parse(&server(&format!("https://{host}")), &Trust::Secret).is_ok(), "{host}");
    }
}

#[test]
fn proxies_are_http_or_https_without_password() {
    let proxy = |url: &str| with_cluster("proxy-url", json!(url));
    for url in ["http://proxy.example:3128", "https://proxy.example"] {
        assert!(parse(&proxy(url), &Trust::Secret).is_ok(), "{url}");
    }
    for url in ["socks5://proxy.example", "file:///etc/passwd", "proxy.example:3128"] {
        assert!(refusal(&proxy(url), &opted_in()).starts_with("clusters[c].cluster.proxy-url is refused"), "{url}");
    }
    refusal(&proxy(&format!("http://me:{TOKEN}@proxy.example")), &opted_in());
}

#[test]
fn addresses_that_names_may_not_resolve_to() {
    let forbidden = |ip: &str| forbidden_address(ip.parse::<IpAddr>().unwrap());
    for ip in ["169.254.1.1", "168.63.129.16", "fe80::1", "febf::1", "fd00:ec2::254", "::ffff:169.254.169.254"] {
        assert!(forbidden(ip), "{ip}");
    }
    for ip in [
        "10.0.0.1",
        "127.0.0.1",
        "169.253.255.255",
        "169.255.0.0",
        "::1",
        "fec0::1",
        "fd00:ec2::253",
        "::ffff:10.0.0.1",
    ] {
        assert!(!forbidden(ip), "{ip}");
    }
}

#[test]
fn the_fingerprint_follows_server_and_credentials_only() {
    let before = parse(&document(), &Trust::Secret).unwrap().fingerprint();
    let mut rewritten = document();
    rewritten["current-context"] = json!("renamed");
    rewritten["contexts"][0]["name"] = json!("renamed");
    rewritten["clusters"].as_array_mut().unwrap().push(json!({"name": "unused"}));
    let text = format!("# a comment\n{rewritten}");
    assert_eq!(Kubeconfig::parse(&text, &Trust::Secret).unwrap().fingerprint(), before);

    for changed in [
        server("https://other.example.org:6443"),
        with_user("token", json!("another")),
        with_cluster("certificate-authority-data", json!(pem())),
        with_cluster("tls-server-name", json!("api")),
    ] {
        assert_ne!(parse(&changed, &Trust::Secret).unwrap().fingerprint(), before);
    }
    let rotated = parse(&document(), &Trust::Secret).unwrap().with_file_content(b"certificate");
    assert_ne!(rotated.fingerprint(), before);
}

#[tokio::test]
async fn the_configuration_for_kube() {
    let mut document = with_cluster("certificate-authority-data", json!(pem()));
    document["clusters"][0]["cluster"]["proxy-url"] = json!("http://proxy.example:3128");
    let config = parse(&document, &Trust::Secret).unwrap().config().await.unwrap();
    assert_eq!(config.cluster_url, "https://api.example.org:6443/");
    assert_eq!(config.default_namespace, "team");
    assert_eq!(config.connect_timeout, Some(CONNECT_TIMEOUT));
    assert_eq!(config.read_timeout, None);
    assert!(!config.default_retry);
    assert!(!config.accept_invalid_certs);
    assert_eq!(config.root_cert.unwrap().len(), 1);
    assert_eq!(config.proxy_url.unwrap(), "http://proxy.example:3128/");
    assert!(config.auth_info.token.is_some());
}

#[tokio::test]
async fn a_missing_ca_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let trust = Trust::File { folder: folder.path().into(), allow_local: true };
    let kubeconfig = parse(&with_cluster("certificate-authority", json!("ca.crt")), &trust).unwrap();
    let error = kubeconfig.config().await.unwrap_err();
    let causes = format!("{error}");
    assert!(causes.contains("ca.crt"), "{causes}");

    std::fs::write(folder.path().join("ca.crt"), STANDARD.decode(pem()).unwrap()).unwrap();
    let config = kubeconfig.config().await.unwrap();
    assert_eq!(config.root_cert_file.unwrap(), folder.path().join("ca.crt"));
}

#[tokio::test]
async fn a_pods_own_cluster() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ca.crt"), STANDARD.decode(pem()).unwrap()).unwrap();
    std::fs::write(folder.path().join("namespace"), "broker\n").unwrap();
    let kubeconfig = in_cluster::of_pod("fd00::1", "443", folder.path()).unwrap();
    assert_eq!(kubeconfig.server(), "https://[fd00::1]:443");
    assert_eq!(kubeconfig.namespace(), Some("broker"));
    let config = kubeconfig.config().await.unwrap();
    assert_eq!(config.default_namespace, "broker");
    assert_eq!(config.root_cert_file.unwrap(), folder.path().join("ca.crt"));
    assert_eq!(config.auth_info.token_file.unwrap(), folder.path().join("token").to_string_lossy());
}

#[test]
fn the_opt_in_flag_is_named() {
    assert!(file().remedy().contains(OPT_IN_FLAG));
}

#[test]
fn an_api_server_is_known_by_address_and_authority() {
    let endpoint = |url: &str| parse(&server(url), &Trust::Secret).unwrap().endpoint();
    assert_eq!(endpoint("https://API.example.com/"), endpoint("https://api.example.com:443"));
    assert_ne!(endpoint("https://api.example.com/clusters/a"), endpoint("https://api.example.com/clusters/b"));
    assert_ne!(endpoint("https://api.example.com:6443"), endpoint("https://api.example.com"));
    let with = parse(&with_cluster("certificate-authority-data", json!(pem())), &Trust::Secret).unwrap().endpoint();
    let without = parse(&with_cluster("certificate-authority-data", json!("")), &Trust::Secret);
    assert!(without.is_ok_and(|without| without.endpoint().authority != with.authority));
}

#[test]
fn a_configuration_is_whole_where_nothing_is_read_and_nothing_runs_for_it() {
    let whole =
        |document: &Value| parse(document, &Trust::File { folder: ".".into(), allow_local: true }).unwrap().is_whole();
    assert!(!whole(&document()), "the system's authorities are files");
    let mut of_its_own = with_cluster("certificate-authority-data", json!(pem()));
    assert!(whole(&of_its_own));
    of_its_own["users"][0]["user"] = json!({"tokenFile": "token"});
    assert!(!whole(&of_its_own));
    of_its_own["users"][0]["user"] = json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "c"}});
    assert!(!whole(&of_its_own));
}
