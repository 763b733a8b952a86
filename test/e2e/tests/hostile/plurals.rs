//! The consumer's names for kinds decide nothing at a provider.
