//! What is told of Migrations, as Events on them.

use runtime_effect::{kind::Kind, note::Note};
use runtime_engine::recorder::Regarding;
use runtime_fleet::object::ObjectKey;

use crate::broker::Broker;

impl Broker {
    /// Tells something on the Migration unless it was told a short time ago.
    pub(super) fn tell_migration(&self, key: &ObjectKey, note: &Note) {
        let (Some(uid), Some(hub)) = (self.migrations.news(key, note), self.hub()) else { return };
        let kind = Kind::from(&self.watches.migrations.gvk);
        self.engine.tell(Regarding::new(hub.name(), kind, key, &uid), note.clone());
    }
}
