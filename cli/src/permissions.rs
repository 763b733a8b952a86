//! What the broker, or the graphs controller, may do in a member: the one list of `config/src/permissions`, with the kinds
//! that are brokered in place of the example's.

use std::collections::BTreeMap;

use broker_api::Role;
use manifests::permissions::{
    self, Grant,
    broker::{
        CLUSTER_SECRETS, CONSUMER, CONSUMER_KINDS, COORDINATION_OWN, DASHBOARD_GRAPHS, DASHBOARD_REVIEWS, INSTANCE,
        PROVIDER, PROVIDER_KINDS,
    },
    graphs::{GRAPHS_CRD_DELETION, GRAPHS_LEASE, GRAPHS_OWN, GRAPHS_ROLLOUTS, GRAPHS_SPOKE_SECRETS, SPOKE},
};
use resource_broker::{options::Options, watch_kind::KindFlag};
use resource_graphs::options::Options as GraphsOptions;
use runtime_effect::kind::Kind;
use runtime_process::bind::Disabled;
use serde_json::{Value, json};

use crate::{resource::Resources, rights::Right};

/// Related kinds, as the list has them.
const RELATED: &[&str] = &["secrets", "configmaps"];

/// A resource as RBAC names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Plural {
    /// API group; empty for the core group.
    pub(crate) group: String,
    /// Its plural.
    pub(crate) plural: String,
}

/// The kinds that a broker deals with in a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    /// Those that are brokered.
    pub(crate) brokered: Vec<Plural>,
    /// Those of related resources.
    pub(crate) related: Vec<Plural>,
}

impl Kinds {
    /// Kinds of a broker's flags as a cluster serves them; and the brokered ones that it does not serve.
    pub(crate) fn served(brokered: &[KindFlag], related: &[KindFlag], resources: &Resources) -> (Self, Vec<Kind>) {
        let plural = |KindFlag(kind): &KindFlag| match resources.of_kind(kind) {
            Some(served) => Ok(Plural { group: kind.group.clone(), plural: served.plural.clone() }),
            None => Err(kind.clone()),
        };
        let (mut kinds, mut missing) = (Self::default(), Vec::new());
        for one in brokered.iter().map(plural) {
            match one {
                Ok(plural) if kinds.brokered.contains(&plural) => {}
                Ok(plural) => kinds.brokered.push(plural),
                Err(kind) => missing.push(kind),
            }
        }
        kinds.related = related.iter().map(plural).filter_map(Result::ok).collect();
        (kinds, missing)
    }
}

/// A rule of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    groups: Vec<String>,
    resources: Vec<String>,
    names: Vec<String>,
    verbs: Vec<String>,
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl Rule {
    fn of(rule: &permissions::Rule) -> Self {
        let permissions::Rule { why: _, groups, resources, names, verbs } = rule;
        Self { groups: owned(groups), resources: owned(resources), names: owned(names), verbs: owned(verbs) }
    }

    /// The same for another kind; subresources stay what they are.
    fn for_kind(mut self, kind: &Plural) -> Self {
        self.groups = vec![kind.group.clone()];
        for resource in &mut self.resources {
            let below = resource.find('/').map(|at| resource.split_off(at)).unwrap_or_default();
            *resource = format!("{}{below}", kind.plural);
        }
        self
    }

    /// As an API server takes it.
    pub(crate) fn as_value(&self) -> Value {
        let mut value = json!({ "apiGroups": self.groups, "resources": self.resources, "verbs": self.verbs });
        if !self.names.is_empty() {
            value["resourceNames"] = json!(self.names);
        }
        value
    }

    /// Each verb on each resource.
    fn rights(&self) -> Vec<Right> {
        let everything = [String::new()];
        let names = if self.names.is_empty() { &everything[..] } else { &self.names[..] };
        let mut rights = Vec::new();
        for group in &self.groups {
            for resource in &self.resources {
                for name in names {
                    rights.extend(self.verbs.iter().map(|verb| Right {
                        group: group.clone(),
                        resource: resource.clone(),
                        namespace: String::new(),
                        name: name.clone(),
                        verb: verb.clone(),
                    }));
                }
            }
        }
        rights
    }
}

fn grants(role: Role) -> &'static [Grant] {
    match role {
        Role::Consumer => CONSUMER,
        Role::Provider => PROVIDER,
        Role::Spoke => SPOKE,
        Role::Coordination | Role::Compute => &[],
    }
}

/// The roles of a member, by name, with these kinds; without any as the list has them, with those of the example.
pub(crate) fn roles(role: Role, kinds: Option<&Kinds>) -> Vec<(&'static str, Vec<Rule>)> {
    grants(role).iter().map(|grant| (grant.role.name, rules(grant.role, kinds))).collect()
}

fn rules(role: &permissions::Role, kinds: Option<&Kinds>) -> Vec<Rule> {
    let listed = role.rules.iter().map(Rule::of);
    let Some(kinds) = kinds else { return listed.collect() };
    if [CONSUMER_KINDS.name, PROVIDER_KINDS.name].contains(&role.name) {
        // The example's kind stands for each.
        let of_one = |kind| role.rules.iter().map(move |rule| Rule::of(rule).for_kind(kind));
        return kinds.brokered.iter().flat_map(of_one).collect();
    }
    let each = |rule: Rule| if rule.resources == RELATED { related(&rule, kinds) } else { vec![rule] };
    listed.flat_map(each).collect()
}

/// The rule of related kinds, once for each of their API groups.
fn related(rule: &Rule, kinds: &Kinds) -> Vec<Rule> {
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for kind in &kinds.related {
        groups.entry(&kind.group).or_default().push(kind.plural.clone());
    }
    let of_group =
        |(group, resources): (&str, Vec<String>)| Rule { groups: vec![group.to_owned()], resources, ..rule.clone() };
    groups.into_iter().map(of_group).collect()
}

/// Each verb that a member's credentials need.
pub(crate) fn rights(role: Role, kinds: &Kinds) -> Vec<Right> {
    roles(role, Some(kinds)).iter().flat_map(|(_, rules)| rules.iter().flat_map(Rule::rights)).collect()
}

/// Each verb that a role allows in a namespace; empty: in the whole cluster.
fn within(namespace: &str, role: &permissions::Role) -> Vec<Right> {
    let rights = role.rules.iter().flat_map(|rule| Rule::of(rule).rights());
    rights.map(|right| Right { namespace: namespace.to_owned(), ..right }).collect()
}

/// Each verb that a broker with these flags needs in the coordination cluster; `own` is its namespace. What stages of
/// migrations take is the cluster owner's to grant, and Migrations say what they lack.
pub(crate) fn of_broker(own: &str, options: &Options) -> Vec<Right> {
    let mut rights = within("", &COORDINATION_OWN);
    rights
        .extend(within(own, &INSTANCE).into_iter().filter(|right| options.leader_elect || right.resource != "leases"));
    for secrets in &options.cluster_secrets_namespace {
        rights.extend(within(&secrets.namespace, &CLUSTER_SECRETS));
    }
    if let Disabled::On(address) = options.dashboard_bind_address {
        rights.extend(within("", &DASHBOARD_GRAPHS));
        if !address.ip().is_loopback() {
            rights.extend(within("", &DASHBOARD_REVIEWS));
        }
    }
    rights
}

/// Each verb that a controller of ResourceGraphDefinitions with these flags needs in the coordination cluster; `own` is the
/// namespace of its Lease. What instances and their children take is the cluster owner's to grant, and instances say what they
/// lack.
pub(crate) fn of_graphs(own: &str, options: &GraphsOptions) -> Vec<Right> {
    let mut rights = within("", &GRAPHS_OWN);
    if options.allow_crd_deletion {
        rights.extend(within("", &GRAPHS_CRD_DELETION));
    }
    if options.leader_elect {
        rights.extend(within(own, &GRAPHS_LEASE));
    }
    if options.enable_multicluster {
        rights.extend(within("", &GRAPHS_ROLLOUTS));
        rights.extend(within(options.cluster_secrets_namespace.as_deref().unwrap_or(own), &GRAPHS_SPOKE_SECRETS));
    }
    rights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{resource::Resource, rights::told};

    fn plural(group: &str, plural: &str) -> Plural {
        Plural { group: group.into(), plural: plural.into() }
    }

    #[test]
    fn the_kinds_that_are_brokered_take_the_place_of_the_example() {
        let kinds = Kinds {
            brokered: vec![plural("db.example.org", "stores"), plural("", "configmaps")],
            related: vec![plural("", "secrets")],
        };
        let consumer = told(&rights(Role::Consumer, &kinds));
        let head = "get, list, watch, patch stores.db.example.org; patch stores/status.db.example.org; get, list, watch, patch configmaps; \
                    patch configmaps/status; get, list, watch, create, patch, delete secrets; create events.events.k8s.io;";
        assert!(consumer.starts_with(head), "{consumer}");
        assert!(consumer.ends_with("get namespaces kube-system"), "{consumer}");
        assert!(!consumer.contains("certificates"), "{consumer}");
        let provider = told(&rights(Role::Provider, &kinds));
        assert!(provider.starts_with("list, watch, create, patch, delete stores.db.example.org;"), "{provider}");
        assert!(provider.contains("get, list, watch secrets;") && !provider.contains("status.db"), "{provider}");
    }

    #[test]
    fn kinds_are_called_as_the_cluster_serves_them() {
        let flags = |texts: &[&str]| -> Vec<KindFlag> { texts.iter().filter_map(|text| text.parse().ok()).collect() };
        let resources = Resources::these([
            Resource::named("example.org", "v1", "Store", "stores"),
            Resource::named("", "v1", "Secret", "secrets"),
        ]);
        let brokered = flags(&["Store.v1.example.org", "Store.v1.example.org", "Other.v1.example.org"]);
        let (kinds, missing) = Kinds::served(&brokered, &flags(&["Secret.v1.core", "ConfigMap.v1.core"]), &resources);
        assert_eq!(kinds.brokered, [plural("example.org", "stores")]);
        assert_eq!(kinds.related, [plural("", "secrets")]);
        assert_eq!(missing.iter().map(|kind| &*kind.kind).collect::<Vec<_>>(), ["Other"]);
    }

    #[test]
    fn a_graphs_controller_needs_what_its_flags_ask_for() {
        let told = |args: &[&str]| {
            let options = crate::deployed::tests::graphs(args, 1, 1).options;
            told(&options.map(|options| of_graphs("kro", &options)).unwrap_or_default())
        };
        let least = told(&[]);
        assert!(least.contains("create, patch customresourcedefinitions") && !least.contains("leases"), "{least}");
        assert!(!least.contains("delete customresourcedefinitions") && !least.contains("secrets"), "{least}");
        let all = told(&["--allow-crd-deletion", "--leader-elect", "--enable-multicluster"]);
        for part in [
            "patch, delete customresourcedefinitions",
            "create leases.coordination.k8s.io in namespace kro",
            "resourcegraphrollouts.broker.platform-mesh.io",
            "get, list, watch, patch secrets in namespace kro",
        ] {
            assert!(all.contains(part), "{part}: {all}");
        }
        let elsewhere = told(&["--enable-multicluster", "--cluster-secrets-namespace=spokes"]);
        assert!(elsewhere.contains("secrets in namespace spokes"), "{elsewhere}");
    }

    #[test]
    fn a_spoke_has_no_kinds_of_its_own() {
        assert_eq!(roles(Role::Spoke, None), roles(Role::Spoke, Some(&Kinds::default())));
    }
}
