//! The whole on a real node: operator and broker from images, as a platform team installs them.

fn main() {}
