//! `Subject`: what a write about an instance is about, and in whose name it is made.

use broker_api::graphs::keys;
use runtime_effect::memory;

/// What a write is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// Finalizer and labels of the instance, with its inventory where that changes too.
    Managed,
    /// The inventory alone.
    Inventory,
    /// A child that is made or put right.
    Child,
    /// A child that is deleted, or released.
    Removal,
    /// The finalizer leaves.
    Leave,
    /// The instance's status.
    Status,
}

impl Subject {
    /// The field manager that such a write is made as.
    pub fn manager(self) -> &'static str {
        match self {
            Self::Managed | Self::Leave => keys::LABEL_MANAGER,
            Self::Inventory => keys::INVENTORY_MANAGER,
            Self::Child | Self::Removal | Self::Status => keys::CHILD_MANAGER,
        }
    }
}

impl memory::Subject for Subject {
    /// As many children as one collection may have.
    const MOST: usize = 1000;

    fn is_many(self) -> bool {
        matches!(self, Self::Child | Self::Removal)
    }

    /// What a status says comes from children, which change as often as they like.
    fn is_paced(self) -> bool {
        self == Self::Status
    }
}

/// What is remembered of the writes about one instance.
pub type Memory = memory::Memory<Subject>;
