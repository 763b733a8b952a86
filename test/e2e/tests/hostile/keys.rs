//! A signing key that is lost is not made anew silently.
