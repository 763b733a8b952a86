//! What somebody has sent, as an API server understands it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{
    builtin::NAMESPACES,
    crd,
    failure::{Cause, Failure},
    meta::{set, text},
    request::Target,
    resource::Resource,
    schema::{Schema, default, drop_nulls, prune, tidy},
};

/// The JSON of a body that is to be an object of this kind.
pub(crate) fn object(resource: &Resource, body: &[u8]) -> Result<Value, Failure> {
    let mut object: Value = serde_json::from_slice(body).map_err(|error| Failure::bad_request(error.to_string()))?;
    if !object.is_object() {
        return Err(Failure::bad_request("the body is no object"));
    }
    for (name, expected) in [("apiVersion", resource.api_version()), ("kind", resource.kind.clone())] {
        match object[name].as_str().unwrap_or_default() {
            "" if resource.rules.custom => return Err(Failure::bad_request(format!("Object '{name}' is missing"))),
            "" => object[name] = json!(expected),
            said if said != expected && resource.rules.custom && name == "kind" => {}
            said if said != expected => {
                return Err(Failure::bad_request(format!("the {name} in the data ({said}) is not {expected}")));
            }
            _ => {}
        }
    }
    Ok(object)
}

/// A custom object is of the kind of the path.
pub(crate) fn check_kind(resource: &Resource, object: &Value) -> Result<(), Failure> {
    let said = object["kind"].as_str().unwrap_or_default();
    if said == resource.kind || !resource.rules.custom {
        return Ok(());
    }
    let other = Resource { kind: said.to_owned(), ..resource.clone() };
    Err(Failure::invalid(&other, text(object, "name"), vec![Cause::invalid("kind", "it is another")]))
}

/// An object that was sent: what is null and may not be is not there. Else like [`normalise`].
pub(crate) fn received(resource: &Resource, mut object: Value) -> Result<Value, String> {
    if resource.rules.custom {
        drop_nulls(resource.schema(), &mut object);
    }
    normalise(resource, object)
}

/// What came of applying to an object. Custom objects are kept as they come of that.
pub(crate) fn applied(resource: &Resource, mut object: Value) -> Result<Value, String> {
    if !resource.rules.custom {
        return normalise(resource, object);
    }
    default(resource.schema(), &mut object);
    Ok(object)
}

/// An object with all that is always there, and nothing that never is. The error is for people.
pub(crate) fn normalise(resource: &Resource, mut object: Value) -> Result<Value, String> {
    if !resource.rules.custom {
        tidy(resource.schema(), &mut object)?;
        complete(resource, &mut object);
        return Ok(object);
    }
    let metadata = &mut object["metadata"];
    if metadata.is_null() {
        *metadata = json!({});
    }
    tidy(Schema::metadata(), metadata)?;
    prune(resource.schema(), &mut object);
    default(resource.schema(), &mut object);
    Ok(object)
}

/// What built-in kinds say where nothing is said.
fn complete(resource: &Resource, object: &mut Value) {
    if resource.is("", "secrets") {
        if let Value::Object(texts) = object["stringData"].take() {
            for (name, value) in texts {
                object["data"][name] = json!(STANDARD.encode(value.as_str().unwrap_or_default()));
            }
        }
        if let Some(fields) = object.as_object_mut() {
            fields.remove("stringData");
        }
        if object["type"].is_null() {
            object["type"] = json!("Opaque");
        }
    } else if resource.is("", NAMESPACES) {
        let name = text(object, "name").to_owned();
        if !name.is_empty() {
            let mut labels = object["metadata"]["labels"].clone();
            labels["kubernetes.io/metadata.name"] = json!(name);
            set(object, "labels", labels);
        }
    } else if resource.is_crd() {
        crd::complete(object);
    }
}

/// The object is in the namespace of the path, and says so.
pub(crate) fn place(resource: &Resource, target: &Target, object: &mut Value) -> Result<(), Failure> {
    let said = text(object, "namespace").to_owned();
    if !resource.namespaced {
        set(object, "namespace", Value::Null);
        return Ok(());
    }
    if !said.is_empty() && said != target.namespace {
        return Err(Failure::bad_request("the namespace of the object is not the one of the request"));
    }
    set(object, "namespace", json!(target.namespace));
    Ok(())
}

/// The object has the name of the path.
pub(crate) fn check_name(target: &Target, object: &Value) -> Result<(), Failure> {
    if text(object, "name") == target.name {
        return Ok(());
    }
    Err(Failure::bad_request(format!("the name of the object is not the name on the URL ({})", target.name)))
}
