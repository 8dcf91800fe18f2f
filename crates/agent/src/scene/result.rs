//! The structured result of a run.

use std::sync::Arc;

use super::Scene;
use super::error::SceneError;
use super::wanted::Delivery;
use crate::structured::StructuredResult;
use crate::tool::Tool;
use crate::tools::SubmitResult;
use crate::workspace::{Access, Contained};

impl Scene {
    /// The tool that delivers the structured result, where the run has it.
    pub(super) fn submit_result(&self) -> Result<Option<Arc<dyn Tool>>, SceneError> {
        let offered = self.wanted.delivery == Delivery::FileOrTool;
        let Some((_, schema)) = self.wanted.structured.as_ref().filter(|_| offered) else { return Ok(None) };
        let Some(place) = self.result_place()? else { return Ok(None) };
        let (workspace, sources) = (self.workspace.clone(), self.sources.clone());
        Ok(Some(Arc::new(SubmitResult::new(workspace, sources, place.sandbox, schema)?)))
    }

    fn result_place(&self) -> Result<Option<Contained>, SceneError> {
        let Some((path, _)) = &self.wanted.structured else { return Ok(None) };
        let refused = |source| SceneError::ResultPath { path: path.clone(), source };
        let contained = self.workspace.real_to_sandbox(path.clone()).map_err(refused)?;
        if contained.access != Access::Writable {
            return Err(SceneError::ResultReadOnly(path.clone()));
        }
        Ok(Some(contained))
    }

    /// What is expected at the end.
    pub(super) fn structured(&self) -> Result<Option<StructuredResult>, SceneError> {
        let Some((_, schema)) = &self.wanted.structured else { return Ok(None) };
        let Some(place) = self.result_place()? else { return Ok(None) };
        Ok(Some(StructuredResult::expect(self.workspace.clone(), place, schema, self.resumed)?))
    }
}
