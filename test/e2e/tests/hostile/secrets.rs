//! The role of a cluster is what the namespace of its Secret says.
