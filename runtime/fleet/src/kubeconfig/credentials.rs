//! What a kubeconfig's cluster and user may hold, by how far it is trusted.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use kube::config::{AuthInfo, Cluster};

use super::{error::KubeconfigError, named::Named, pem::is_pem, trust::Trust};

/// Refuses everything that reads local files, starts processes, borrows another identity or gives up on TLS, unless
/// such trust allows; then makes its paths absolute.
pub(super) fn check(
    cluster: &mut Named<Cluster>,
    user: &mut Named<AuthInfo>,
    trust: &Trust,
) -> Result<(), KubeconfigError> {
    forget_empty(&mut cluster.value, &mut user.value);
    if !trust.allows_local() {
        refuse_local(cluster, user, trust)?;
    }
    if let Trust::File { folder, allow_local: true } = trust {
        make_absolute(&mut cluster.value, &mut user.value, folder);
    }
    check_data(cluster, user)
}

/// An empty text means "not set", as in client-go; kube would try to read the file named "".
fn forget_empty(cluster: &mut Cluster, user: &mut AuthInfo) {
    for field in [
        &mut cluster.certificate_authority,
        &mut cluster.certificate_authority_data,
        &mut cluster.proxy_url,
        &mut cluster.tls_server_name,
        &mut user.token_file,
        &mut user.client_certificate,
        &mut user.client_certificate_data,
        &mut user.client_key,
        &mut user.impersonate,
        &mut user.impersonate_uid,
    ] {
        if field.as_ref().is_some_and(String::is_empty) {
            *field = None;
        }
    }
    if secret_text(user, "token").is_some_and(|token| token.is_empty()) {
        user.token = None;
    }
    if secret_text(user, "client-key-data").is_some_and(|key| key.is_empty()) {
        user.client_key_data = None;
    }
}

fn refuse_local(cluster: &Named<Cluster>, user: &Named<AuthInfo>, trust: &Trust) -> Result<(), KubeconfigError> {
    let c = &cluster.value;
    let u = &user.value;
    let file = "reads a file of the controller's machine";
    let other = "makes the controller act as somebody else";
    let rules = [
        (u.exec.is_some(), user.field("exec"), "runs a program on the controller's machine"),
        (u.auth_provider.is_some(), user.field("auth-provider"), "may run a program on the controller's machine"),
        (u.token_file.is_some(), user.field("tokenFile"), file),
        (u.client_certificate.is_some(), user.field("client-certificate"), file),
        (u.client_key.is_some(), user.field("client-key"), file),
        (c.certificate_authority.is_some(), cluster.field("certificate-authority"), file),
        (u.impersonate.is_some(), user.field("as"), other),
        (u.impersonate_uid.is_some(), user.field("as-uid"), other),
        (u.impersonate_groups.is_some(), user.field("as-groups"), other),
        (u.impersonate_user_extra.is_some(), user.field("as-user-extra"), other),
        (
            c.insecure_skip_tls_verify == Some(true),
            cluster.field("insecure-skip-tls-verify"),
            "lets anybody on the way read the credentials",
        ),
    ];
    match rules.into_iter().find(|(met, ..)| *met) {
        Some((_, field, what)) => Err(KubeconfigError::Refused { field, what, remedy: trust.remedy() }),
        None => Ok(()),
    }
}

fn make_absolute(cluster: &mut Cluster, user: &mut AuthInfo, folder: &Path) {
    let exec = user.exec.as_mut().and_then(|exec| exec.command.as_mut());
    // As in client-go: a command without a separator is looked up in $PATH.
    let exec = exec.filter(|command| command.contains(std::path::MAIN_SEPARATOR));
    [
        cluster.certificate_authority.as_mut(),
        user.token_file.as_mut(),
        user.client_certificate.as_mut(),
        user.client_key.as_mut(),
        exec,
    ]
    .into_iter()
    .flatten()
    .for_each(|path| *path = folder.join(&*path).to_string_lossy().into_owned());
}

fn check_data(cluster: &Named<Cluster>, user: &Named<AuthInfo>) -> Result<(), KubeconfigError> {
    let u = &user.value;
    check_pem(&cluster.field("certificate-authority-data"), cluster.value.certificate_authority_data.as_deref())?;
    check_pem(&user.field("client-certificate-data"), u.client_certificate_data.as_deref())?;
    check_pem(&user.field("client-key-data"), secret_text(u, "client-key-data").as_deref())?;
    let certificate = u.client_certificate.is_some() || u.client_certificate_data.is_some();
    let key = u.client_key.is_some() || u.client_key_data.is_some();
    let missing = match (certificate, key) {
        (true, false) => ("client-key-data", "there is a client certificate but no key: add its key"),
        (false, true) => ("client-certificate-data", "there is a client key but no certificate: add its certificate"),
        _ => return check_token(user),
    };
    Err(KubeconfigError::Data { field: user.field(missing.0), reason: missing.1 })
}

/// A token goes into a header as it is; one with a newline would only fail later, without the field's name.
fn check_token(user: &Named<AuthInfo>) -> Result<(), KubeconfigError> {
    match secret_text(&user.value, "token") {
        Some(token) if !token.bytes().all(|byte| byte.is_ascii_graphic()) => Err(KubeconfigError::Data {
            field: user.field("token"),
            reason: "it holds spaces, newlines or other characters that no token has: copy it again",
        }),
        _ => Ok(()),
    }
}

fn check_pem(field: &str, data: Option<&str>) -> Result<(), KubeconfigError> {
    let Some(data) = data else { return Ok(()) };
    let bad = |reason| KubeconfigError::Data { field: field.to_owned(), reason };
    let text = STANDARD.decode(data).map_err(|_| bad("it is not base64: encode the PEM text with base64 -w0"))?;
    if is_pem(&text) {
        Ok(())
    } else {
        Err(bad(
            "it is base64, but not of a PEM text, whose -----BEGIN …----- and -----END …----- are lines of their own: encode the \
             file as it is, with base64 -w0",
        ))
    }
}

/// A secret text field. kube shows these only when serialising.
fn secret_text(user: &AuthInfo, field: &str) -> Option<String> {
    serde_json::to_value(user).ok()?.get(field)?.as_str().map(str::to_owned)
}
