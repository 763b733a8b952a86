//! A cluster that does not come up is only itself not ready.
