//! Objects that are replaced.

use super::Call;
use crate::{answer::Answer, failure::Failure, meta::text, read};

impl Call<'_> {
    pub(super) fn update(&mut self) -> Result<Answer, Failure> {
        let object = read::object(&self.resource, &self.request.body)?;
        read::check_kind(&self.resource, &object)?;
        let mut object = read::received(&self.resource, object).map_err(Failure::bad_request)?;
        read::check_name(self.target, &object)?;
        read::place(&self.resource, self.target, &mut object)?;
        let Some(stored) = self.stored() else {
            if !self.resource.rules.creates_on_update {
                return Err(self.missing());
            }
            let blank = self.resource.blank.clone();
            self.writer().update(&blank, &mut object);
            self.admit_new(&object)?;
            let created = self.commit_new(object, false)?;
            return Ok(self.shown(201, &created));
        };
        let said = text(&object, "uid");
        if !said.is_empty() && said != text(&stored, "uid") {
            return Err(Failure::conflict(&self.resource, &self.target.name, "the uid is not that of the object"));
        }
        let old = self.resource.told(&stored);
        self.writer().update(&old, &mut object);
        let updated = self.commit_change(&stored, &old, object)?;
        Ok(self.shown(200, &updated))
    }
}
