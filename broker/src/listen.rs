//! What the broker listens to.

use std::sync::Arc;

use broker_api::Role;
use broker_core::acceptance::AcceptId;
use runtime_engine::sources;
use runtime_fleet::{
    fleet::Fleet,
    index::{Change, Index},
    listener::{ClusterSelector, Listener},
    subscription::Subscription,
};

use crate::{acceptance::change::AcceptChange, broker::Broker, migrations, origins, signing};

/// Asks for all watches that run from the start to the end.
pub fn listen(broker: &Arc<Broker>, fleet: &Arc<Fleet>) -> Vec<Subscription> {
    let (hub, providers) = (ClusterSelector::Role(Role::Coordination), ClusterSelector::Role(Role::Provider));
    let watches = &broker.watches;
    let own = || Arc::clone(broker);
    let mut subscriptions = vec![
        fleet.listen(&providers, &watches.accept_apis, &Arc::new(AcceptApiChanges(own()))),
        fleet.listen(&hub, &watches.signing_key, &Arc::new(SigningKey(own()))),
        fleet.listen(&hub, &watches.signing_backup, &Arc::new(SigningBackup(own()))),
    ];
    let secrets: Vec<_> = watches.cluster_secrets.iter().map(|secrets| Arc::clone(&secrets.spec)).collect();
    subscriptions.extend(sources::listen(fleet, &hub, &secrets, &broker.secret_changes));
    subscriptions.extend(origins::listen::listen(broker, fleet));
    subscriptions.extend(migrations::listen(broker, fleet));
    subscriptions
}

/// AcceptAPIs, in providers.
struct AcceptApiChanges(Arc<Broker>);

impl Listener for AcceptApiChanges {
    fn changed(&self, index: &Index, change: &Change) {
        let (provider, key) = (index.cluster().clone(), change.key.clone());
        // Somebody may have edited its status.
        let (namespace, name) = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        self.0.enqueue_status(&AcceptId { provider: provider.clone(), namespace, name });
        self.0.accept_apis.changes.tell(AcceptChange::Changed(provider, key));
    }

    fn completed(&self, index: &Index) {
        self.0.accept_apis.changes.tell(AcceptChange::Complete(index.cluster().clone()));
    }
}

/// The signing key, in the coordination cluster.
struct SigningKey(Arc<Broker>);

impl Listener for SigningKey {
    fn changed(&self, _index: &Index, change: &Change) {
        signing::secrets::read(&self.0, change.new.as_deref());
    }

    fn completed(&self, _index: &Index) {
        self.0.signing.wake();
    }
}

/// The copy of the signing key, in the coordination cluster.
struct SigningBackup(Arc<Broker>);

impl Listener for SigningBackup {
    fn changed(&self, _index: &Index, _change: &Change) {
        self.0.signing.wake();
    }

    fn completed(&self, _index: &Index) {
        self.0.signing.wake();
    }
}
