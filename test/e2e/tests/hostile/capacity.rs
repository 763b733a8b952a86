//! Capacity counts copies, whoever is away.
