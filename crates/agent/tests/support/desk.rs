//! A workspace of a test with all file tools on it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_agent::files::{EditFile, KeepImage, ListFiles, ReadFile, SearchFiles, ViewImage, WriteFile};
use fullsend_agent::sources::Sources;
use fullsend_agent::workspace::{Access, CurrentDir, HostMount, WorkspacePlan};
use fullsend_agent::{Tool, ToolCallContext, ToolFault, ToolOutput, Workspace};
use fullsend_flow::{Label, Policy};
use serde_json::{Value, json};

/// Directories of a test: `work` is the workspace, `work/.artifacts` is reserved, `outside` is neither.
pub(crate) struct Desk {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) current: CurrentDir,
    pub(crate) sources: Arc<Sources>,
    pub(crate) root: PathBuf,
    _held: Option<tempfile::TempDir>,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::with_mounts(&[])
    }

    /// With mounts whose sources are relative to the directory above the workspace.
    pub(crate) fn with_mounts(mounts: &[&str]) -> Self {
        let held = tempfile::tempdir().unwrap();
        let root = held.path().canonicalize().unwrap();
        Self { _held: Some(held), ..Self::at(&root, mounts) }
    }

    pub(crate) fn at(root: &Path, mounts: &[&str]) -> Self {
        let (work, artifacts) = (root.join("work"), root.join("work/.artifacts"));
        std::fs::create_dir_all(artifacts.join("run-1")).unwrap();
        std::fs::write(artifacts.join("run-1/secret.txt"), "secret of the run\n").unwrap();
        std::fs::create_dir_all(root.join("outside")).unwrap();
        std::fs::write(root.join("outside/secret.txt"), "secret of the host\n").unwrap();
        std::fs::create_dir_all(root.join("mounted")).unwrap();
        let mounts: Vec<HostMount> = mounts.iter().map(|text| text.parse().unwrap()).collect();
        let workspace = Workspace::open(&WorkspacePlan {
            root: &work,
            target: fullsend_agent::workspace::WORKSPACE_TARGET,
            access: Access::Writable,
            mounts: &mounts,
            relative_to: root,
            reserved: &[artifacts],
        })
        .unwrap();
        let workspace = Arc::new(workspace);
        Self {
            sources: Arc::new(Sources::new(Arc::new(Policy::default()), Arc::clone(&workspace))),
            workspace,
            current: CurrentDir::default(),
            root: root.to_owned(),
            _held: None,
        }
    }

    /// By another policy.
    pub(crate) fn under(self, policy: Policy) -> Self {
        let sources = Arc::new(Sources::new(Arc::new(policy), Arc::clone(&self.workspace)));
        Self { sources, ..self }
    }

    pub(crate) fn host(&self, path: &str) -> PathBuf {
        self.root.join("work").join(path)
    }

    pub(crate) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.host(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.host(path)).unwrap()
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, path: &str) {
        symlink(target, self.host(path)).unwrap();
    }

    /// Names in a directory of the workspace.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.host(path)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub(crate) fn output(&self, name: &str, input: &Value) -> Result<ToolOutput, ToolFault> {
        self.output_of(name, input, &Label::bottom())
    }

    /// With arguments of a label.
    pub(crate) fn output_of(
        &self,
        name: &str,
        input: &Value,
        label: &Label,
    ) -> Result<ToolOutput, ToolFault> {
        let (workspace, current) = (Arc::clone(&self.workspace), self.current.clone());
        let sources = Arc::clone(&self.sources);
        let tool: Box<dyn Tool> = match name {
            "read_file" => Box::new(ReadFile::new(workspace, current, sources)),
            "write_file" => Box::new(WriteFile::new(workspace, current, sources)),
            "edit_file" => Box::new(EditFile::new(workspace, current, sources)),
            "list_files" => Box::new(ListFiles::new(workspace, current, sources)),
            "search_files" => Box::new(SearchFiles::new(workspace, current, sources)),
            "view_image" => {
                let keeper = Arc::new(Keeper(self.root.join("kept")));
                Box::new(ViewImage::new(workspace, current, keeper, sources))
            }
            other => panic!("no tool {other}"),
        };
        assert_eq!(tool.spec().name, name);
        let input = input.as_object().unwrap();
        let context = ToolCallContext { call_id: "call", output_id: "run:tool:1", input, label };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(tool.call(context))
    }

    /// The record of a call, checked for what every record has.
    pub(crate) fn call(&self, name: &str, input: Value) -> Value {
        let output = self.output(name, &input).unwrap();
        assert_eq!(output.record["outputId"], "run:tool:1");
        assert_eq!(output.failure.is_some(), output.record["ok"] == false, "{:?}", output.record);
        assert!(output.failure.is_some() || output.label == *self.sources.usual(), "{:?}", output.label);
        output.record
    }

    /// The code of a call that must fail.
    pub(crate) fn code(&self, name: &str, input: Value) -> String {
        let record = self.call(name, input);
        let error = &record["error"];
        assert_eq!(error["type"], "fullsend.structured-file-tool-error", "{record}");
        assert_eq!(error["path"], record["path"], "{record}");
        error["code"].as_str().unwrap().to_owned()
    }

    pub(crate) fn read(&self, path: &str) -> Value {
        self.call("read_file", json!({ "path": path }))
    }
}

/// Keeps pictures in a directory.
#[derive(Debug)]
struct Keeper(PathBuf);

impl KeepImage for Keeper {
    fn keep_image(&self, bytes: &[u8], media_type: &'static str) -> Result<PathBuf, ToolFault> {
        let path = self.0.join(media_type.replace('/', "."));
        std::fs::create_dir_all(&self.0)
            .and_then(|()| std::fs::write(&path, bytes))
            .map_err(|source| ToolFault::Artifact { path: path.clone(), source })?;
        Ok(path)
    }
}
