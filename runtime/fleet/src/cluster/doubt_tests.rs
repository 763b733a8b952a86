//! What was seen counts for nothing until it is listed again.

use super::*;

/// A cluster with one watch, and who listens to that.
fn listened_to() -> (Arc<Cluster>, Arc<Told>, Arc<Index>) {
    let (cluster, told) = (cluster(), Arc::new(Told::default()));
    let spec = Arc::new(WatchSpec::all(job()).labelled("a"));
    cluster.listen(&spec, 1, &(Arc::clone(&told) as Arc<dyn Listener>));
    let index = cluster.index(&spec).unwrap();
    (cluster, told, index)
}

#[tokio::test]
async fn who_listens_hears_that_nobody_can_say_any_more_what_there_is() {
    let (cluster, told, index) = listened_to();
    Audience::incomplete(&*cluster, &index);
    assert_eq!(told.lost.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn of_an_api_server_that_has_gone_back_in_time_nothing_is_known_until_it_is_listed_again() {
    let (cluster, told, index) = listened_to();
    let crds = &cluster.server.kinds.crds;
    for returns in 1..=2 {
        cluster.server.set_state(&ClusterState::Connecting, None);
        cluster.server.set_state(&ClusterState::Ready, None);
        // What an answer has told is newer than what the watch has.
        index.replace(Vec::new(), 1);
        index.upsert(ObjectKey::new("n", "a"), object(), Source::Response);
        crds.replace(Vec::new(), 1);
        cluster.server.gone_back();
        assert_eq!((index.is_complete(), told.lost.load(Ordering::Relaxed)), (false, returns));
        assert!(!crds.is_complete());
        assert_eq!(index.get(&ObjectKey::new("n", "a")), Lookup::Unknown, "what is held need not be there");
        let news = index.replace(vec![(ObjectKey::new("n", "a"), super::object())], 2);
        assert_eq!(news.len(), 1, "it was unknown, and is there");
        index.doubt(Doubt::Restored);
        let gone = index.replace(Vec::new(), 1);
        assert_eq!((gone.len(), index.len()), (1, 0), "no version of before says anything");
        // Another watch finds the same.
        cluster.server.gone_back();
        assert_eq!((index.is_complete(), told.lost.load(Ordering::Relaxed)), (true, returns));
    }
}

#[tokio::test]
async fn what_may_be_old_is_not_known_until_it_is_listed_again() {
    let (cluster, told, index) = listened_to();
    for times in 1..=2 {
        index.replace(vec![(ObjectKey::new("n", "a"), object())], 1);
        cluster.server.list_anew();
        assert_eq!((index.is_complete(), told.lost.load(Ordering::Relaxed)), (false, times));
        assert_eq!(index.get(&ObjectKey::new("n", "a")), Lookup::Unknown);
    }
}
