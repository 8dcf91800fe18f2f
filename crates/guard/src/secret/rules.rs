//! The rules of the secret scanner. The file is a table.

use crate::rule::rules;

rules! {
    scanner SecretRedactor;
    list ALL;

    /// An AWS access key id.
    AWS_ACCESS_KEY = Critical "aws_access_key", "An AWS access key id.", "deactivate the key in IAM and use short-lived credentials";
    /// An AWS secret access key.
    AWS_SECRET_KEY = Critical "aws_secret_key", "An AWS secret access key.", "deactivate the key in IAM and use short-lived credentials";
    /// A key of an Azure account.
    AZURE_KEY = Critical "azure_key", "A key of an Azure storage account or service bus.", "rotate the key of the account";
    /// A signed Azure URL.
    AZURE_SAS = High "azure_sas", "The signature of an Azure shared-access URL.", "revoke the stored access policy, or rotate the key that signed the URL";
    /// A Google API key.
    GOOGLE_API_KEY = Critical "google_api_key", "A Google API key.", "delete the key in the cloud console and restrict its successor";
    /// A classic GitHub token of a person.
    GITHUB_PAT = Critical "github_pat", "A classic personal access token for GitHub.", "revoke the token in the developer settings of the account";
    /// A fine-grained GitHub token.
    GITHUB_FINE_PAT = Critical "github_fine_pat", "A fine-grained personal access token for GitHub.", "revoke the token in the developer settings of the account";
    /// A GitHub token of an OAuth app.
    GITHUB_OAUTH = Critical "github_oauth", "A GitHub token of an OAuth app.", "revoke the authorisation of the app";
    /// A GitHub token of an app acting for a person.
    GITHUB_USER_TOKEN = Critical "github_user_token", "A GitHub token of an app that acts for a person.", "revoke the authorisation of the app";
    /// A GitHub refresh token.
    GITHUB_REFRESH_TOKEN = Critical "github_refresh_token", "A GitHub refresh token.", "revoke the authorisation of the app";
    /// A GitHub token of an installation.
    GITHUB_SERVER_TOKEN = Critical "github_server_token", "A GitHub token of an app installation.", "revoke the token, or wait until it runs out after an hour";
    /// A GitLab token of a person.
    GITLAB_PAT = Critical "gitlab_pat", "A personal access token for GitLab.", "revoke the token in the settings of the account";
    /// Another GitLab token.
    GITLAB_TOKEN = Critical "gitlab_token", "A GitLab token for deploying, running, building or triggering.", "revoke the token in the settings of the project";
    /// A Slack token.
    SLACK_TOKEN = Critical "slack_token", "A Slack token.", "revoke the token in the settings of the app";
    /// A Slack webhook.
    SLACK_WEBHOOK = High "slack_webhook", "The address of a Slack webhook, which lets anyone post.", "delete the webhook and create a new one";
    /// A Stripe key for real payments.
    STRIPE_LIVE = Critical "stripe_live", "A Stripe key for real payments.", "roll the key in the dashboard";
    /// A Stripe key for tests.
    STRIPE_TEST = High "stripe_test", "A Stripe key for tests.", "roll the key in the dashboard";
    /// An OpenAI project key.
    OPENAI_PROJ = Critical "openai_proj", "An OpenAI project key.", "delete the key on the page of the project";
    /// An OpenAI key, or one in the same form.
    OPENAI_KEY = Critical "openai_key", "A key in the form of OpenAI's.", "delete the key at the provider and create a new one";
    /// An Anthropic key.
    ANTHROPIC_KEY = Critical "anthropic_key", "An Anthropic key.", "delete the key in the console and create a new one";
    /// A token for publishing npm packages.
    NPM_TOKEN = Critical "npm_token", "A token for npm.", "revoke the token in the settings of the account";
    /// A token for publishing Python packages.
    PYPI_TOKEN = Critical "pypi_token", "A token for a Python package index.", "revoke the token in the settings of the account";
    /// A Hugging Face token.
    HF_TOKEN = Critical "hf_token", "A Hugging Face token.", "revoke the token in the settings of the account";
    /// A Twilio key.
    TWILIO_KEY = High "twilio_key", "The id of a Twilio API key.", "delete the key in the console";
    /// A SendGrid key.
    SENDGRID_KEY = Critical "sendgrid_key", "A SendGrid key.", "delete the key in the settings and create a new one";
    /// A DigitalOcean token.
    DIGITALOCEAN_TOKEN = Critical "digitalocean_token", "A DigitalOcean token.", "revoke the token in the control panel";
    /// A Perplexity key.
    PERPLEXITY_KEY = Critical "perplexity_key", "A Perplexity key.", "delete the key and create a new one";
    /// A Databricks token.
    DATABRICKS_TOKEN = Critical "databricks_token", "A Databricks token.", "revoke the token in the settings of the workspace";
    /// A Telegram bot token.
    TELEGRAM_TOKEN = High "telegram_token", "The token of a Telegram bot.", "have the bot's token replaced by BotFather";
    /// A Vault token.
    VAULT_TOKEN = Critical "vault_token", "A Vault token.", "revoke the token with `vault token revoke`";
    /// An age key.
    AGE_SECRET_KEY = Critical "age_secret_key", "A secret key of age.", "make a new key and encrypt again what this one protects";
    /// A Google sign-in token or secret.
    GOOGLE_OAUTH = Critical "google_oauth", "A Google access token, refresh token or client secret.", "revoke the grant, or reset the secret of the client in the cloud console";
    /// A secret of an application in Azure's directory.
    AZURE_APP_SECRET = Critical "azure_app_secret", "The client secret of an application in Azure's directory.", "delete the secret of the application and create a new one";
    /// A token of a service without a rule of its own.
    SERVICE_TOKEN = Critical "service_token", "A token with the prefix that a known service gives to its tokens.", "revoke the token at the service and create a new one";
    /// A Discord token.
    DISCORD_TOKEN = High "discord_token", "The token of a Discord bot.", "reset the token on the page of the application";
    /// A Discord webhook.
    DISCORD_WEBHOOK = High "discord_webhook", "The address of a Discord webhook, which lets anyone post.", "delete the webhook and create a new one";
    /// A signed URL.
    SIGNED_URL = Medium "signed_url", "The signature of a URL that opens what it names until it runs out.", "let the URL run out, or revoke the key that signed it";
    /// A JSON web token.
    JWT = High "jwt", "A JSON web token.", "end the session it stands for, or replace the key that signed it";
    /// A private key.
    PRIVATE_KEY = Critical "private_key", "A private key. High when it is encrypted, stands in source code, or has tests, examples or further keys around it; low when it is a test key that everyone has.", "replace the key pair everywhere it is trusted";
    /// A password in a connection string.
    DB_CONNECTION_PASSWORD = High "db_connection_password", "A password in the address of a database or a queue.", "change the password and pass it in by other means";
    /// A password in another URL.
    URL_PASSWORD = High "url_password", "A password in a URL.", "change the password and pass it in by other means";
    /// Credentials in a request header.
    AUTH_HEADER = High "auth_header", "Credentials in a request header.", "replace the credentials and let a proxy attach them";
    /// A session in a cookie.
    COOKIE = Medium "cookie", "A cookie that stands for a session.", "end the session, and leave cookies out of logs";
    /// A password on a command line.
    COMMAND_PASSWORD = High "command_password", "A password among the arguments of a program.", "change the password and pass it in a file or from the environment";
    /// Secrets in base64.
    ENCODED_SECRET = High "encoded_secret", "Secrets in base64, such as a whole environment file.", "replace the secrets in it: base64 is no protection";
    /// A password in the form of `.netrc`.
    NETRC_PASSWORD = High "netrc_password", "A password in a `.netrc` file.", "change the password and keep the file out of reach";
    /// Registry credentials of Docker.
    DOCKER_AUTH = High "docker_auth", "A name and password in Docker's configuration.", "change the password and use a credential helper";
    /// A secret assigned to a name.
    ENV_ASSIGNMENT = High "env_assignment", "A value assigned to a name that says it is a secret.", "replace the secret if it is real, and read it from outside the file";
    /// A secret in a field.
    JSON_FIELD = High "json_field", "A value in a field whose name says it is a secret.", "replace the secret if it is real, and read it from outside the file";
}
