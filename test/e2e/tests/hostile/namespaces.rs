//! Namespaces at providers: system namespaces are refused, emptied ones go slowly.
