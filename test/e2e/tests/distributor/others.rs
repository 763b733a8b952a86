//! Others that have a say in a spoke: whoever grants rights there, and whoever restores a backup.

use std::{
    fs,
    path::{Path, PathBuf},
};

use e2e::{
    Place,
    kind::{CONFIG_MAP, CRD, SECRET},
};
use harness::{Lab, LabOptions};

use super::fleet::{PEACE, SECRETS, cluster, make_spoke, membership, note, text_is};
use crate::{FLEET, rights};

/// A spoke with an etcd of its own.
struct Remote {
    lab: Lab,
    place: Place,
}

impl Remote {
    async fn start(name: &str) -> Self {
        let lab = Lab::start(LabOptions::default()).await.unwrap();
        let place = cluster(&lab, name).await;
        make_spoke(&place).await;
        Self { lab, place }
    }

    fn saved(&self) -> PathBuf {
        self.lab.directory().join("saved")
    }

    /// Keeps what is there now.
    async fn back_up(&self) {
        self.while_stopped(copy).await;
    }

    /// What was there at [`Remote::back_up`] is there again, and nothing that came after it.
    async fn restore(&self) {
        self.while_stopped(|held, saved| {
            fs::remove_dir_all(held).unwrap();
            copy(saved, held);
        })
        .await;
    }

    async fn while_stopped(&self, act: impl FnOnce(&Path, &Path)) {
        self.place.cluster.stop();
        self.lab.stop_etcd();
        act(&self.lab.etcd_directory(), &self.saved());
        self.lab.start_etcd().await.unwrap();
        self.place.cluster.start_again().await.unwrap();
    }
}

/// A directory with all that is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() { copy(&path, &to) } else { fs::copy(path, to).map(drop).unwrap() }
    }
}

#[test]
fn a_spoke_that_is_restored_from_a_backup_catches_up() {
    FLEET.run(async |fleet| {
        let _alone = PEACE.write().await;
        fleet.join_all().await;
        let oslo = Remote::start("oslo").await;
        fleet.hub.apply(&membership(&oslo.place).to_string()).await;
        let kind = fleet.define("restored", &note("1 ")).await;
        rights::grant(&oslo.place, "restored-instances", vec![rights::instances(&kind)]).await;
        fleet.distributed("restored", "AllClusters", "4/4 clusters at revision 1").await;
        fleet.bring_up_in(&oslo.place, &kind, "restored", "one").await;
        oslo.back_up().await;
        fleet.edit("restored", &note("2 ")).await;
        text_is(&oslo.place, "restored", "2 oslo").await;
        fleet.bring_up_in(&oslo.place, &kind, "restored", "two").await;
        fleet.distributed("restored", "AllClusters", "4/4 clusters at revision 2").await;

        oslo.restore().await;
        text_is(&oslo.place, "restored", "2 oslo").await;
        fleet.bring_up_in(&oslo.place, &kind, "restored", "three").await;
        fleet.distributed("restored", "AllClusters", "4/4 clusters at revision 2").await;
        assert!(oslo.place.find(&kind, "restored", "two").await.is_none(), "nobody knows of it there");
        assert!(oslo.place.find(&CONFIG_MAP, "restored", "two-config").await.is_none());
        fleet.hub.delete(&SECRET, SECRETS, "oslo").await;
        fleet.distributed("restored", "AllClusters", "3/3").await;
    });
}

#[test]
fn a_spoke_that_may_not_be_read_is_unknown_until_it_may() {
    FLEET.run(async |fleet| {
        let _alone = PEACE.write().await;
        fleet.join_all().await;
        let kind = fleet.define("unreadable", &note("1 ")).await;
        fleet.all_run(&kind, "1").await;
        fleet.bring_up("tokyo", &kind, "unreadable", "one").await;
        let tokyo = fleet.spoke("tokyo");
        let binding = e2e::Kind {
            group: "rbac.authorization.k8s.io",
            version: "v1",
            kind: "ClusterRoleBinding",
            plural: "clusterrolebindings",
        };
        let mut controller = fleet.controller().await;
        controller.terminate().await;
        tokyo.delete(&binding, "", "graphs-spoke").await;
        rights::until_denied(tokyo, &rights::rule(CRD.group, &[CRD.plural], &["list"])).await;
        controller.start_again(&fleet.lab).await;
        fleet.edit("unreadable", &note("2 ")).await;
        fleet.distributed("unreadable", "Partial", "2/3 clusters at revision 2; failing: spoke#tokyo").await;
        assert_eq!(fleet.revision("tokyo", &kind).await.as_deref(), Some("1"));
        text_is(tokyo, "unreadable", "1 tokyo").await;
        make_spoke(tokyo).await;
        fleet.distributed("unreadable", "AllClusters", "3/3 clusters at revision 2").await;
        text_is(tokyo, "unreadable", "2 tokyo").await;
    });
}
