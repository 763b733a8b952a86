//! What the demos of the examples share: clusters, programs, and what the person sees.
