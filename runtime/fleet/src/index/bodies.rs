//! What an index holds of its objects' content may have to give way to others'.

use std::sync::{Arc, atomic::Ordering};

use super::Index;
use crate::{budget::Bodies, object::ObjectKey};

impl Index {
    /// Of what it holds only identities and versions are left: to be called where nothing of it counts.
    pub(crate) fn forget_bodies(&self) {
        let mut keys = Vec::new();
        self.each_body(&mut |key, _| keys.push(key.clone()));
        for key in &keys {
            self.drop_body(key);
        }
    }
}

impl Bodies for Index {
    fn may_drop(&self) -> bool {
        self.may_drop.load(Ordering::Relaxed)
    }

    fn each_body(&self, tell: &mut dyn FnMut(&ObjectKey, usize)) {
        let state = self.read();
        for (key, object) in state.objects.iter().filter(|(_, object)| object.has_body()) {
            tell(key, object.size());
        }
    }

    fn drop_body(&self, key: &ObjectKey) {
        let mut state = self.write();
        let Some(held) = state.objects.get_mut(key) else { return };
        let size = held.size();
        let bare = Arc::new(held.bare());
        let dropped = std::mem::replace(held, bare);
        drop(state);
        self.share.release(size);
        drop(dropped);
    }
}
