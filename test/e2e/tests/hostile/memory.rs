//! What is held of all clusters stays within the memory budget.
