//! Agent Skills: finding, validating and reading them, their resources and scripts.
