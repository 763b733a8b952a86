//! `Image`: a container image's name in its parts.

use std::fmt;

use broker_api::broker;

/// `repository[:tag][@digest]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Registry and name.
    pub repository: String,
    /// Tag, without the colon.
    pub tag: Option<String>,
    /// `sha256:…`.
    pub digest: Option<String>,
}

impl Image {
    /// Takes a name apart. What follows the last colon is a tag, unless it is a registry's port.
    pub fn parse(text: &str) -> Self {
        let (name, digest) = text.split_once('@').map_or((text, None), |(name, digest)| (name, Some(digest)));
        let (repository, tag) = match name.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
            _ => (name, None),
        };
        Self { repository: repository.to_owned(), tag: tag.map(str::to_owned), digest: digest.map(str::to_owned) }
    }

    /// What a Broker asks for, on top of the default. Another repository has the default's tag, which is this release's.
    #[must_use]
    pub fn with(&self, wanted: Option<&broker::Image>) -> Self {
        let Some(wanted) = wanted else { return self.clone() };
        let repository = wanted.repository.clone().unwrap_or_else(|| self.repository.clone());
        if let Some(tag) = &wanted.tag {
            let is_digest = tag.starts_with("sha256:");
            let (tag, digest) = if is_digest { (None, Some(tag.clone())) } else { (Some(tag.clone()), None) };
            return Self { repository, tag, digest };
        }
        if repository == self.repository {
            return self.clone();
        }
        let tag = self.tag.clone().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned());
        Self { repository, tag: Some(tag), digest: None }
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.repository)?;
        self.tag.iter().try_for_each(|tag| write!(f, ":{tag}"))?;
        self.digest.iter().try_for_each(|digest| write!(f, "@{digest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_and_put_together() {
        for text in ["a", "a:1", "host:5000/a", "host:5000/a:1", "host/a:1@sha256:00", "a@sha256:00"] {
            assert_eq!(Image::parse(text).to_string(), text);
        }
        assert_eq!(Image::parse("host:5000/a").tag, None);
        assert_eq!(Image::parse("host:5000/a:1").repository, "host:5000/a");
    }

    #[test]
    fn a_broker_overrides_what_it_names() {
        let default = Image::parse("localhost/resource-broker:0.1.0@sha256:00");
        let with = |repository: Option<&str>, tag: Option<&str>| {
            let wanted = broker::Image {
                repository: repository.map(str::to_owned),
                tag: tag.map(str::to_owned),
                ..broker::Image::default()
            };
            default.with(Some(&wanted)).to_string()
        };
        assert_eq!(with(None, None), default.to_string());
        assert_eq!(with(Some("x/y"), None), "x/y:0.1.0");
        assert_eq!(with(None, Some("2")), "localhost/resource-broker:2");
        assert_eq!(with(Some("x/y"), Some("sha256:11")), "x/y@sha256:11");
        assert_eq!(Image::parse("bare").with(None).to_string(), "bare");
    }
}
