//! Objects that cannot be read are told, and never written over.
