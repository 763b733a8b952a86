//! What the world is like only now and then.

#[derive(Default)]
pub(crate) struct Oddities {
    /// The broker has much else to do.
    pub(crate) busy: bool,
    /// Why the broker cannot see what is at the providers.
    pub(crate) trouble: Option<String>,
    /// It is not known which related objects there are in the consumer.
    pub(crate) targets_unknown: bool,
    /// It is a person who asks what would be done.
    pub(crate) asked: bool,
}
