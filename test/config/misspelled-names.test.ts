import { mistakesOf } from '@recourse/test-support/read-settings.ts';
import { expect, test } from 'vitest';
import { findMisspelledSettings } from '#src/config/misspelled-names.ts';
import { SETTINGS } from '#src/config/settings/settings.ts';
import { OWN_EXTENSIONS } from '#src/packages.ts';

const find = (environment: Readonly<Record<string, string>>, used: readonly string[] = []) =>
  findMisspelledSettings(environment, Object.keys(SETTINGS), (name) => used.includes(name)).map(
    ({ variable, meant }) => `${variable} → ${meant}`,
  );

test.each([
  ['TOOL_DIR', 'TOOLS_DIR'],
  ['TOOLSDIR', 'TOOLS_DIR'],
  ['tools_dir', 'TOOLS_DIR'],
  ['TOOLS_DIRECTORY', 'TOOLS_DIR'],
  ['API_KEY', 'API_KEYS'],
  ['APIKEY_FILE', 'API_KEYS_FILE'],
  ['REDIS_URI', 'REDIS_URL'],
  ['LOGLEVEL', 'LOG_LEVEL'],
  ['MAX_DEADLINE', 'MAX_DEADLINE_MS'],
  ['MAX_BODY_SIZE', 'MAX_BODY_BYTES'],
  ['SESSION_TTL', 'SESSION_TTL_SECONDS'],
  ['SESSION_TTL_MS', 'SESSION_TTL_SECONDS'],
  ['TOOL_GROUP', 'TOOL_GROUPS'],
  ['ALLOW_ANONYMUS', 'ALLOW_ANONYMOUS'],
])('%s is told to be %s', (variable, meant) => {
  expect(find({ [variable]: 'x' })).toEqual([`${variable} → ${meant}`]);
});

test('a variable that is read under its own name, has no value, or stands beside its setting is somebody else’s', () => {
  expect(find({ API_KEY: 'x' }, ['API_KEY'])).toEqual([]);
  expect(find({ API_KEY: '' })).toEqual([]);
  expect(find({ API_KEY: 'x', API_KEYS: 'acme=0' })).toEqual([]);
});

// Names of real environments: a login shell and a desktop, GitHub Actions, a pod with service links, systemd, Docker's node image.
const FOREIGN = `SHELL PWD OLDPWD HOME LOGNAME USER USERNAME MAIL PATH MANPATH LANG LANGUAGE LC_ALL TERM COLORTERM TERM_PROGRAM
EDITOR VISUAL PAGER LESS LS_COLORS DISPLAY WAYLAND_DISPLAY XAUTHORITY XDG_RUNTIME_DIR XDG_SESSION_ID XDG_SESSION_TYPE
DBUS_SESSION_BUS_ADDRESS SESSION_MANAGER DESKTOP_SESSION GNOME_TERMINAL_SCREEN SSH_AUTH_SOCK SSH_AGENT_PID SSH_CLIENT
SSH_CONNECTION SSH_TTY TMPDIR TMUX TMUX_PANE HOSTNAME HOSTTYPE MACHTYPE OSTYPE SHLVL HISTSIZE HISTFILE PS1 NVM_DIR NVM_BIN
NODE_ENV NODE_OPTIONS NODE_VERSION NODE_PATH NODE_COMPILE_CACHE YARN_VERSION npm_config_user_agent npm_package_name
npm_lifecycle_event INIT_CWD VIRTUAL_ENV PYTHONPATH JAVA_HOME GOPATH CARGO_HOME RUSTUP_HOME DOCKER_HOST COMPOSE_PROJECT_NAME
KUBECONFIG CI GITHUB_ACTIONS GITHUB_TOKEN GITHUB_WORKSPACE GITHUB_RUN_ID RUNNER_OS RUNNER_TEMP RUNNER_TOOL_CACHE
ACTIONS_RUNTIME_URL ImageOS AGENT_TOOLSDIRECTORY KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBERNETES_SERVICE_PORT_HTTPS KUBERNETES_PORT
KUBERNETES_PORT_443_TCP KUBERNETES_PORT_443_TCP_ADDR REDIS_PORT REDIS_SERVICE_HOST REDIS_SERVICE_PORT REDIS_PORT_6379_TCP
REDIS_PORT_6379_TCP_ADDR REDIS_HOST REDIS_PASSWORD RECOURSE_PORT RECOURSE_SERVICE_HOST RECOURSE_PORT_8080_TCP_PROTO
CREDENTIALS_DIRECTORY INVOCATION_ID JOURNAL_STREAM LISTEN_FDS NOTIFY_SOCKET RUNTIME_DIRECTORY STATE_DIRECTORY LOGS_DIRECTORY
SYSTEMD_EXEC_PID WATCHDOG_USEC MEMORY_PRESSURE_WATCH DATABASE_URL POSTGRES_PASSWORD OPENAI_API_KEY ANTHROPIC_API_KEY
SLACK_SIGNING_SECRET GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CLOUD_PROJECT AWS_REGION AWS_SESSION_TOKEN SENTRY_DSN
OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_HEADERS OTEL_TRACES_SAMPLER TZ HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy SSL_CERT_FILE
CURL_CA_BUNDLE REQUESTS_CA_BUNDLE DEBIAN_FRONTEND GOOGLE_API_KEY SLACK_API_TOKEN SLACK_BOT_ID FORCE_COLOR NO_COLOR PORT HOST DOCS_URL WORKSPACE HOST_IP POD_NAME`;

test('no variable of a real environment is taken for a setting', () => {
  const names = FOREIGN.split(/\s+/);
  expect(names.length).toBeGreaterThan(130);
  expect(find(Object.fromEntries(names.map((name) => [name, 'x'])))).toEqual([]);
});

const LEVELS = 'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent';
const GROUPS = `TOOL_GROUPS must be a comma-separated list of ${[...OWN_EXTENSIONS.groups.keys()].join(', ')}`;
const REDIS =
  'REDIS_URL must be redis://… or rediss://…, a comma-separated list of them, or redis+sentinel://HOST/NAME';

test.each([
  ['REDIS_URL', 'me:secret@cache:6379', REDIS],
  ['REDIS_URL', 'localhost:6379', `${REDIS}: 'localhost:6379' has no scheme; write redis://localhost:6379`],
  [
    'REDIS_URL',
    'redis+sentinel://:secret@a',
    `${REDIS}: write redis+sentinel://[user:password@]host[:port][,host[:port]]/NAME[/db], a % in user or password as %25`,
  ],
  ['PORT', '8080/tcp', 'PORT must be a whole number: write PORT=8080'],
  [
    'OPS_PORT',
    'tcp://10.0.0.1:9090',
    "OPS_PORT must be a whole number: Kubernetes sets 'tcp://10.0.0.1:9090' for a Service of that name; set enableServiceLinks: false, or rename the Service",
  ],
  ['LOG_LEVEL', 'warning', `${LEVELS}: 'warning' is not allowed; did you mean 'warn'?`],
  ['LOG_LEVEL', '"info"', `${LEVELS}: the quotes are part of the value; remove them`],
  ['TOOL_GROUPS', 'notes,gmail', `${GROUPS}: 'gmail' is not allowed; did you mean 'mail'?`],
  ['MAX_DEADLINE_MS', '10s', 'MAX_DEADLINE_MS must be a whole number: write MAX_DEADLINE_MS=10000'],
  ['SESSION_TTL_SECONDS', '1h', 'SESSION_TTL_SECONDS must be a whole number: write SESSION_TTL_SECONDS=3600'],
  ['MAX_BODY_BYTES', '1MB', 'MAX_BODY_BYTES must be a whole number: write MAX_BODY_BYTES=1048576'],
  ['TOOLS_DIR', '~/tools', 'TOOLS_DIR begins with ~, which only a shell expands: write the absolute path'],
])('%s=%s says what to write', (setting, value, mistake) => {
  expect(mistakesOf({ [setting]: value })).toEqual([mistake]);
});
