//! Clocks that jump move nothing.
