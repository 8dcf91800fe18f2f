//! The models that sessions ask for.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use fullsend_agent::scene::ChosenModel;
use fullsend_chat::turn::ModelSource;

use super::super::agent::model::{self, OnRecord};
use crate::cli::ModelArgs;
use crate::environment;
use crate::output::in_one_line;

/// Models of the gateway, or of the script, that the options name.
#[derive(Debug)]
pub(super) struct Models {
    args: ModelArgs,
    /// A client is made once for all sessions.
    chosen: Mutex<BTreeMap<String, ChosenModel>>,
}

impl Models {
    /// Looks whether models can be asked at all, so that a service that could ask none does not start.
    pub(super) fn new(args: &ModelArgs) -> Result<Self> {
        let models = Self { args: args.clone(), chosen: Mutex::default() };
        let any = models.usual().unwrap_or_else(|| "any".to_owned());
        models.make(&any)?;
        Ok(models)
    }

    fn usual(&self) -> Option<String> {
        let of_environment = || environment::agent_option("MODEL").map(|(_, value)| value);
        let replayed = || self.args.replay.as_ref().map(|_| "replay".to_owned());
        self.args.model.clone().or_else(of_environment).or_else(replayed)
    }

    fn make(&self, name: &str) -> Result<ChosenModel> {
        let args = ModelArgs { model: Some(name.to_owned()), ..self.args.clone() };
        model::choose(&args, &OnRecord::default())
    }
}

impl ModelSource for Models {
    fn choose(&self, name: Option<&str>) -> Result<ChosenModel, String> {
        let Some(name) = name.map(str::to_owned).or_else(|| self.usual()) else {
            return Err(
                "no model is named: name one in `model`, or start the service with `--model`".to_owned()
            );
        };
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = chosen.get(&name) {
            return Ok(model.clone());
        }
        let model = self.make(&name).map_err(|error| in_one_line(&error))?;
        chosen.insert(name, model.clone());
        Ok(model)
    }
}
