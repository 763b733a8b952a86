//! A provider that fills consumers' API servers: what it writes arrives, at a bounded rate and size.
