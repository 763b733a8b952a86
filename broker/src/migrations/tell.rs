//! What is told of Migrations, as Events on them.

use broker_api::keys;
use runtime_effect::note::Note;
use runtime_engine::recorder::Regarding;
use runtime_fleet::object::ObjectKey;

use crate::broker::Broker;

impl Broker {
    /// Tells something on the Migration unless it was told a short time ago.
    pub(super) fn tell_migration(&self, key: &ObjectKey, note: &Note) {
        let (Some(uid), Some(hub)) = (self.migrations.news(key, note), self.hub()) else { return };
        let about = Regarding {
            cluster: hub.name().clone(),
            api_version: format!("{}/{}", keys::GROUP, self.watches.migrations.gvk.version),
            kind: self.watches.migrations.gvk.kind.clone(),
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            uid: uid.into(),
        };
        self.engine.tell(about, note.clone());
    }
}
