//! Looking at pictures.

use fullsend_agent::AttachedImage;
use fullsend_origin::Sha256Digest;
use serde_json::json;

use crate::support::desk::Desk;

#[test]
fn pictures_are_known_by_their_first_bytes() {
    for (bytes, media_type) in [
        (&b"\x89PNG\r\n\x1a\nrest"[..], "image/png"),
        (b"\xff\xd8\xffrest", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ] {
        let desk = Desk::new();
        desk.put("art/picture", bytes);
        let output = desk.output("view_image", &json!({ "path": "art/picture" })).unwrap();
        let digest = format!("sha256:{}", Sha256Digest::of(bytes));
        let expected = json!({
            "outputId": "run:tool:1", "path": "/workspace/art/picture", "mediaType": media_type,
            "bytes": bytes.len(), "digest": digest, "imageAttached": true,
        });
        assert_eq!(output.record, expected);
        let [AttachedImage { snapshot, bytes: seen, media_type: attached, digest: kept, name }] =
            &output.images[..]
        else {
            panic!("one picture");
        };
        assert_eq!(output.label, *desk.sources.usual());
        assert_eq!((*attached, kept, name.as_str()), (media_type, &digest, "picture"));
        assert_eq!(seen, bytes);
        // What was seen is kept, whatever becomes of the file.
        desk.put("art/picture", "changed");
        assert_eq!(std::fs::read(snapshot).unwrap(), bytes);
    }
}

#[test]
fn what_is_no_picture_is_refused() {
    let desk = Desk::new();
    for bytes in [&b"just text"[..], b"", b"\x89PNG", b"GIF88a", b"RIFF\0\0\0\0WAVE"] {
        desk.put("text.png", bytes);
        assert_eq!(desk.code("view_image", json!({ "path": "text.png" })), "invalid_argument", "{bytes:?}");
    }
    desk.put("large.gif", "GIF89a");
    let file = std::fs::OpenOptions::new().write(true).open(desk.host("large.gif")).unwrap();
    file.set_len(20 * 1024 * 1024 + 1).unwrap();
    assert_eq!(desk.code("view_image", json!({ "path": "large.gif" })), "too_large");
    file.set_len(20 * 1024 * 1024).unwrap();
    assert_eq!(desk.call("view_image", json!({ "path": "large.gif" }))["bytes"], 20 * 1024 * 1024);
    assert_eq!(desk.code("view_image", json!({ "path": "missing.png" })), "file_not_found");
}

/// Pictures of other mounts are seen like those of the workspace.
#[test]
fn pictures_of_mounts_are_seen() {
    let desk = Desk::with_mounts(&["name=art,source=mounted,target=/art"]);
    std::fs::write(desk.root.join("mounted/a.gif"), "GIF89a").unwrap();
    assert_eq!(desk.call("view_image", json!({ "path": "/art/a.gif" }))["mediaType"], "image/gif");
}
