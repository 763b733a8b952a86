//! Providers that have nothing to do with an origin: whether they are looked at makes no difference.

use std::sync::Arc;

use broker_api::{ClusterName, keys};
use broker_core::{
    acceptance::Acceptance,
    decision::Decision,
    movement::MigrationView,
    snapshot::{Holder, OriginKey},
};
use runtime_effect::{
    reach::Reach,
    seen::Seen,
    serving::{KindView, Serving},
};

use super::World;

impl World {
    /// Decides, and makes sure that bystanders make no difference.
    pub(super) fn beside_bystanders(
        &self,
        key: &OriginKey,
        holders: Vec<Holder>,
        acceptances: &[Arc<Acceptance>],
        migrations: &[MigrationView],
        decide: impl Fn(Vec<Holder>) -> Decision,
    ) -> Decision {
        // Every other time: it is as dear as the decision itself.
        let others = (!self.asked_once && self.millis.is_multiple_of(2))
            .then(|| self.but_for_bystanders(key, &holders, acceptances, migrations));
        let decision = decide(holders);
        if let Some(others) = others {
            assert_eq!(decision, decide(others), "who has nothing to do with an origin makes a difference");
        }
        decision
    }

    /// The same holders without those that may be left out, and with others that might have been.
    fn but_for_bystanders(
        &self,
        key: &OriginKey,
        holders: &[Holder],
        acceptances: &[Arc<Acceptance>],
        migrations: &[MigrationView],
    ) -> Vec<Holder> {
        let origin = self.servers[&key.cluster].seen(&Self::origin_at(key));
        let mark = |name: &str| origin.present().and_then(|origin| origin.annotation(name)).map(ClusterName::provider);
        let marked = [mark(keys::PROVIDER_CLUSTER), mark(keys::NEW_PROVIDER_CLUSTER)];
        let is_named = |provider: &ClusterName| {
            marked.iter().flatten().any(|marked| marked == provider)
                || migrations.iter().any(|migration| [&migration.from, &migration.to].contains(&provider))
        };
        let speaks = |provider: &ClusterName| acceptances.iter().any(|acceptance| acceptance.id.provider == *provider);
        let matters =
            |holder: &&Holder| !is_bystander(holder) || is_named(&holder.provider) || speaks(&holder.provider);
        let mut others: Vec<Holder> = holders.iter().filter(matters).cloned().collect();
        others.insert(0, bystander("0-serves", true));
        for (name, reach) in
            [("zz-lost", Reach::Lost("why".into())), ("zz-unreachable", Reach::Unreachable("why".into()))]
        {
            others.push(Holder { reach, ..bystander(name, true) });
        }
        others.push(bystander("zzz-does-not", false));
        others
    }
}

fn is_bystander(holder: &Holder) -> bool {
    match (&holder.copy, &holder.serving) {
        (Seen::Absent | Seen::Unknown, Serving::Missing) if holder.reach == Reach::Ready => true,
        (Seen::Absent, _) => holder.acceptances_known && holder.reach != Reach::Settling,
        _ => false,
    }
}

fn bystander(name: &str, serves: bool) -> Holder {
    let kind = KindView {
        plural: "certificates".into(),
        namespaced: true,
        has_status: true,
        schema: Arc::new(runtime_cel::schema::Schema::any()),
    };
    let holder = Holder {
        provider: ClusterName::provider(name),
        reach: Reach::Ready,
        silent_millis: 0,
        serving: if serves { Serving::Served(kind) } else { Serving::Missing },
        copy: if serves { Seen::Absent } else { Seen::Unknown },
        acceptances_known: serves,
        acceptances_served: true,
        trouble: None,
    };
    assert!(is_bystander(&holder));
    holder
}
