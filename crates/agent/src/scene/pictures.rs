//! Pictures that come with a prompt.

use std::path::{Path, PathBuf};

use fullsend_flow::Label;
use fullsend_origin::Sha256Digest;

use super::Scene;
use super::error::SceneError;
use crate::engine::Opening;
use crate::files::{LARGEST_IMAGE, media_type};
use crate::store::{ImageAttachment, RunStore};

/// A picture that was read.
#[derive(Debug)]
pub struct Picture {
    host: PathBuf,
    label: Label,
    media_type: &'static str,
    bytes: Vec<u8>,
}

impl Scene {
    /// The label of the prompt, and of pictures that come with it.
    pub fn prompt_label(&self, pictures: &[Picture]) -> Label {
        let prompt = self.sources.prompt(self.settings.prompt_role);
        pictures.iter().fold(prompt, |all, picture| all.join(&picture.label))
    }

    /// Something more to say in a run that goes on, with pictures of the workspace.
    pub fn say_with(
        &self,
        store: &RunStore,
        prompt: String,
        images: &[PathBuf],
    ) -> Result<Opening, SceneError> {
        let pictures: Vec<Picture> =
            images.iter().map(|path| self.picture(path)).collect::<Result<_, _>>()?;
        let label = self.prompt_label(&pictures);
        Ok(self.say(prompt, self.keep(store, pictures)?, label))
    }

    /// Keeps pictures for the prompt among the artifacts.
    pub(super) fn keep(
        &self,
        store: &RunStore,
        pictures: Vec<Picture>,
    ) -> Result<Vec<ImageAttachment>, SceneError> {
        let keep = |picture: Picture| {
            let snapshot = store.keep_image(&picture.bytes, picture.media_type)?;
            Ok(ImageAttachment {
                host_path: picture.host,
                media_type: picture.media_type.to_owned(),
                bytes: picture.bytes.len() as u64,
                digest: format!("sha256:{}", Sha256Digest::of(&picture.bytes)),
                snapshot_path: Some(store.artifacts().relative(&snapshot)),
            })
        };
        pictures.into_iter().map(keep).collect()
    }

    pub(super) fn picture(&self, path: &Path) -> Result<Picture, SceneError> {
        if path.as_os_str().is_empty() {
            return Err(SceneError::UnnamedPicture);
        }
        let named = || path.to_owned();
        let outside = |source| SceneError::PicturePath { path: named(), source };
        let unreadable = |source| SceneError::PictureFile { path: named(), source };
        let contained = self.workspace.host_to_sandbox(&self.wanted.workspace.join(path)).map_err(outside)?;
        let opened = self.workspace.open_file(&contained.sandbox).map_err(unreadable)?;
        let bytes = opened.read_all(LARGEST_IMAGE).map_err(unreadable)?;
        let media_type = media_type(&bytes).ok_or_else(|| SceneError::NoPicture(named()))?;
        let label = self.sources.file(&contained.sandbox);
        Ok(Picture { host: contained.host, label, media_type, bytes })
    }
}
