//! What an object is called, whether it is face down, and its mana value.

use super::View;
use crate::ability::{Change, Zone};
use crate::ids::ObjectId;

impl<'a> View<'a> {
    #[must_use]
    pub fn name(&self, id: ObjectId) -> &'a str {
        self.face(id).map_or("", |face| face.face.name.as_str())
    }

    /// The name, or that of the card if the object is face down: the player who turned it down knows it.
    #[must_use]
    pub(crate) fn known_name(&self, id: ObjectId) -> &'a str {
        if !self.is_face_down(id) {
            return self.name(id);
        }
        self.state.faces.get(self.state.object(id).face).map_or("", |face| face.face.name.as_str())
    }

    /// Whether a permanent is face down (708.2).
    #[must_use]
    pub fn is_face_down(&self, id: ObjectId) -> bool {
        let turns = |change: &Change| matches!(change, Change::ShowFaceDown(_));
        self.state.is_on_battlefield(id)
            && self
                .state
                .effects
                .iter()
                .any(|effect| effect.affected.contains(&id) && effect.changes.iter().any(turns))
    }

    #[must_use]
    pub fn mana_value(&self, id: ObjectId) -> i32 {
        let Some(face) = self.face(id) else { return 0 };
        let cost = face.face.mana_cost.as_ref();
        let base = i32::try_from(face.face.mana_value()).unwrap_or(i32::MAX);
        let object = self.object(id);
        // On the stack X has its chosen value, elsewhere it is 0 (202.3e).
        if object.zone == Zone::Stack {
            let count = cost.map_or(0, |cost| i32::try_from(cost.x_count()).unwrap_or(0));
            return base + count * object.cast.x;
        }
        base
    }
}
