//! Related resources: which names a provider may choose, and how much it may send.
