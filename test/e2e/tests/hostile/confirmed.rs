//! Clusters that turn out empty: nothing goes before a person has confirmed it.
