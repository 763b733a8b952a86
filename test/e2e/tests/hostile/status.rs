//! A status that takes long to compare holds up nobody else.
