//! The demo of this example.

fn main() {}
