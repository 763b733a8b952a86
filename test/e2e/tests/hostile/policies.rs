//! What the platform says of a provider bounds what it attracts.
