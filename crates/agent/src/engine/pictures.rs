//! Pictures that calls have read, for the model to see.

use std::io;
use std::path::Path;

use fullsend_flow::Label;
use fullsend_model::{Image, Message};
use fullsend_origin::Sha256Digest;

use super::{Engine, RunError};
use crate::store::{ImageAttachment, KeptMessage};
use crate::tool::{AttachedImage, ToolFault};

/// Pictures that wait until every call of an answer has its result, and what they are made of.
#[derive(Debug)]
pub(super) struct Pictures {
    pub(super) images: Vec<AttachedImage>,
    pub(super) label: Label,
}

impl Engine<'_> {
    /// Pictures of a result with this label, to be shown later.
    pub(super) fn collect(
        &mut self,
        images: &mut Vec<AttachedImage>,
        label: &Label,
        pictures: &mut Pictures,
    ) {
        if images.is_empty() {
            return;
        }
        self.parts.budget.shown(images.iter().map(|image| image.bytes.len() as u64).sum());
        pictures.images.append(images);
        pictures.label = pictures.label.join(label);
    }

    /// Pictures come after all results of an answer: gateways do not accept anything between them.
    pub(super) fn show_pictures(
        &mut self,
        turn: u64,
        Pictures { images, label }: Pictures,
    ) -> Result<(), RunError> {
        if images.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = images.iter().map(|image| image.name.as_str()).collect();
        let content = format!("Pictures that view_image has read: {}", names.join(", "));
        let (mut attachments, mut loaded) = (Vec::new(), Vec::new());
        for image in images {
            attachments.push(ImageAttachment {
                host_path: image.name.into(),
                media_type: image.media_type.to_owned(),
                bytes: image.bytes.len() as u64,
                digest: image.digest,
                snapshot_path: Some(self.parts.store.artifacts().relative(&image.snapshot)),
            });
            loaded.push(Image { media_type: image.media_type, bytes: image.bytes });
        }
        let kept = KeptMessage::User { content: content.clone(), image_attachments: attachments };
        self.tell(&kept);
        self.say(turn, kept, Message::User { content, images: loaded }, &label)
    }
}

/// The bytes of a picture, if they are what they were when its digest was taken.
pub(super) fn read_unchanged(path: &Path, digest: &str) -> Result<Vec<u8>, RunError> {
    let fault = |source| RunError::Tool(ToolFault::Artifact { path: path.to_owned(), source });
    let bytes = std::fs::read(path).map_err(fault)?;
    if format!("sha256:{}", Sha256Digest::of(&bytes)) == digest {
        return Ok(bytes);
    }
    Err(fault(io::Error::new(io::ErrorKind::InvalidData, "the picture is not what it was")))
}
