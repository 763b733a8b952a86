//! A provider's finalizers and replays hold nobody hostage without a word.
