//! The same name in both tenants: two databases, and each tenant gets its own.

use broker_api::generic::databases::Sql;
use example_stage::Stage;
use kube::ResourceExt;

use crate::scene::{Scene, password, served};

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { tenant_a, tenant_b, shared, .. } = scene;
    stage.screen.heading("The same names, apart");
    let wanted = async {
        for tenant in [tenant_a, tenant_b] {
            tenant.apply(include_str!("../tenants/sql.yaml")).await?;
        }
        anyhow::Ok([served(tenant_a, "orders").await?, served(tenant_b, "orders").await?])
    };
    let passwords =
        stage.step("tenant-a and tenant-b each want SQL default/orders, and each is served", wanted).await?;

    let apart = async {
        let mut names = Vec::new();
        for (tenant, password_here) in [tenant_a, tenant_b].into_iter().zip(&passwords) {
            let copy = shared.copy_from::<Sql>(tenant, "orders").await?.name_any();
            let there = password(shared, &format!("{copy}-connection")).await?;
            anyhow::ensure!(&there == password_here, "{} has the password of another database", tenant.name());
            names.push(copy);
        }
        anyhow::ensure!(names[0] != names[1] && passwords[0] != passwords[1], "both have one and the same");
        Ok(names)
    };
    let names =
        stage.step("in shared they are two objects, and each tenant has the password of its own", apart).await?;
    for (tenant, name) in [tenant_a, tenant_b].into_iter().zip(names) {
        stage.screen.detail(&format!("{}: {name}", tenant.name()));
    }
    Ok(())
}
