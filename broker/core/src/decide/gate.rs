//! What stands between a copy that is ready and the switch to it: the Migration of the move, where there is to be one.

use runtime_effect::{merge, write::Op};
use serde_json::json;

use super::{LOST_MILLIS, Pass, claim::Assigned, serve::Site, transfer::Successor};
use crate::{
    decision::Write,
    memory::Subject,
    migration_object,
    movement::{Configured, MigrationView, Phase},
};

impl<'a> Pass<'a> {
    /// What keeps the consumer from being switched, and how far the move is; `None`: nothing.
    pub(super) fn gate(
        &mut self,
        site: &Site<'a>,
        assigned: &Assigned,
        migration: Option<&MigrationView>,
        successor: &Successor<'_>,
        ready: bool,
        gone: bool,
    ) -> Option<(Phase, String)> {
        let provider = site.holder.provider.name();
        if !ready {
            let why = successor.unready.as_deref().unwrap_or("it is not there yet");
            return Some((Phase::Copying, format!("the copy at provider {provider} to be ready: {why}")));
        }
        let waits = |why: String| Some((Phase::Ready, why));
        match (migration, &self.snapshot.moves.configured) {
            (Some(migration), _) if migration.has_ended() => None,
            (Some(migration), _) => waits(format!("Migration {migration}")),
            (None, _) if gone => None,
            (None, Configured::No) => None,
            (None, Configured::Unknown) => {
                self.decision.again_in(LOST_MILLIS);
                waits("the MigrationConfigurations to become known".into())
            }
            (None, Configured::Invalid(why)) => waits(format!("a valid MigrationConfiguration: {why}")),
            (None, Configured::Yes) if self.snapshot.moves.reserved => waits(format!(
                "nothing that will come: no stage runs in namespace {} of the coordination cluster, which is reserved or \
                 not among --migration-namespace",
                self.snapshot.key.namespace
            )),
            (None, Configured::Yes) => waits(self.make_migration(site, assigned)),
        }
    }

    /// Makes the Migration of this move. Says what is waited for.
    fn make_migration(&mut self, site: &Site<'_>, assigned: &Assigned) -> String {
        let snapshot = self.snapshot;
        let Some(coordination) = &snapshot.moves.coordination else { return "the coordination cluster".into() };
        let to = &site.holder.provider;
        let name = migration_object::name(snapshot.key, &site.origin.uid, assigned.epoch);
        let sides = (&assigned.provider, to);
        let body = migration_object::body(snapshot.key, &site.origin.uid, &name, sides, assigned.epoch, snapshot.ring);
        let intent = merge::digest(&json!([name, body]));
        let place = format!("Migration {}/{name}", snapshot.key.namespace);
        let write = Write {
            cluster: coordination.clone(),
            kind: migration_object::kind(),
            namespace: snapshot.key.namespace.to_string(),
            name,
            op: Op::Create(body),
            intent,
            subject: Subject::Migration,
            notes: Vec::new(),
        };
        let written = self.write(Subject::Migration, intent, &json!(null), |_| write);
        match snapshot.memory.writes.trouble_with(Subject::Migration, intent).filter(|_| !written) {
            Some(trouble) => format!("{place} to be made: {}", trouble.message),
            None => place,
        }
    }
}
