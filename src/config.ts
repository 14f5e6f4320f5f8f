import * as z from 'zod';

const FLAGS = { true: true, false: false, 1: true, 0: false } as const;

const whole = (standard: number, least: number, most = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= least && value <= most, `must be from ${least} to ${most}`)
    .default(standard);

const flag = (standard: boolean) =>
  z
    .enum(['true', 'false', '1', '0'], 'must be true or false')
    .transform((word) => FLAGS[word])
    .default(standard);

const oneOf = <const Word extends string>(words: readonly Word[]) =>
  z.enum(words, `must be one of ${words.join(', ')}`);

const list = z
  .string()
  .transform((text) => text.split(',').flatMap((item) => item.trim() || []))
  .default([]);

const listOf = (pattern: RegExp, rule: string, standard: readonly string[] = []) =>
  z
    .string()
    .transform((text) => text.split(',').flatMap((item) => item.trim() || []))
    .refine((items) => items.every((item) => pattern.test(item)), rule)
    .default([...standard]);

const VARIABLES_RULE = 'must be a comma-separated list of names of environment variables';
const PERMISSION = /^(fs-read|fs-write|net|child|worker|addons|wasi)$/;
const PERMISSIONS_RULE = 'must be a comma-separated list of fs-read, fs-write, net, child, worker, addons, wasi';
const TENANT_KEY = /^[a-z0-9][a-z0-9_-]{0,63}=[0-9a-f]{64}$/;
const API_KEY_RULE = 'must be a comma-separated list of tenant=SHA-256, for example acme=5e88…';
const isRedisUrl = (url: string): boolean => /^rediss?:\/\/\S+$/.test(url.trim()) && URL.canParse(url.trim());
// As a browser sends it: what has a path, or no scheme, would never match.
const isOrigin = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/.test(text);
const ORIGIN_RULE = 'must be a comma-separated list of origins, for example https://app.example.com';
const MAX_TIMER_MS = 2_147_483_647; // a longer setTimeout fires at once

/** Every setting: how it is read, its default, and what it is for. docs/configuration.md is made from this. */
export const SETTINGS = {
  HOST: z
    .string()
    .default('127.0.0.1')
    .describe(
      'Address to listen on. Without API keys only a loopback address is accepted, unless ALLOW_ANONYMOUS=true.',
    ),
  PORT: whole(8080, 0, 65_535).describe('Port to listen on; 0 picks a free one. The log line `listening` carries it.'),
  ALLOW_ANONYMOUS: flag(false).describe('Serve callers without an API key on any HOST.'),
  API_KEYS: list
    .refine((keys) => keys.every((key) => TENANT_KEY.test(key)), API_KEY_RULE)
    .describe(
      'Comma-separated `tenant=sha256` pairs: the hex SHA-256 of each key a caller may send as `Authorization: Bearer …` or `X-API-Key`.',
    ),
  API_KEYS_FILE: z
    .string()
    .optional()
    .describe('A file of such pairs, one a line; lines that start with # are comments.'),
  ALLOWED_ORIGINS: list
    .refine((origins) => origins.every(isOrigin), ORIGIN_RULE)
    .describe('Comma-separated origins that browsers may call from, besides loopback ones.'),
  LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('The least severe level that is logged.'),
  REDIS_URL: z
    .string()
    .refine(
      (urls) => urls.split(',').every(isRedisUrl),
      'must be redis://… or rediss://…, or a comma-separated list of them',
    )
    .optional()
    .describe(
      'Where retry budgets are kept: redis://, rediss://, or a comma-separated list of cluster nodes. Unset: in the memory of this process.',
    ),
  WORKSPACE_DIR: z.string().optional().describe('Root of the file tools. Unset: the example workspace.'),
  TOOLS_DIR: z
    .string()
    .optional()
    .describe("A directory of a team's own tools, loaded by processes of their own and watched for changes."),
  TOOLS_ENV: listOf(/^[A-Za-z_]\w*$/, VARIABLES_RULE).describe(
    'Comma-separated variables that every tool host gets, beside PATH, HOME, TZ, LANG and NODE_EXTRA_CA_CERTS.',
  ),
  TOOLS_ENV_ALLOW: listOf(/^[A-Za-z_]\w*\*?$/, `${VARIABLES_RULE}, or beginnings of names such as GITHUB_*`).describe(
    'Comma-separated variables, or beginnings of names such as `GITHUB_*`, that a tool gets where it asks for them.',
  ),
  TOOLS_PERMISSIONS: listOf(PERMISSION, PERMISSIONS_RULE, ['fs-read', 'fs-write', 'net', 'child']).describe(
    "What tool hosts may do under Node's permission model: fs-read, fs-write, net, child, worker, addons, wasi.",
  ),
  TOOLS_INLINE: list.describe(
    'Comma-separated names of tools of TOOLS_DIR that may run inside the service, as they ask to: their faults are then its own.',
  ),
  TOOL_HOSTS_MIN: whole(2, 0, 1024).describe('Tool hosts that are kept warm.'),
  TOOL_HOSTS_MAX: whole(32, 1, 1024).describe(
    'Most tool hosts; one call each at a time. Idle ones beyond TOOL_HOSTS_MIN end after 30 s.',
  ),
  TOOL_HOST_MEMORY_MB: whole(512, 160, 65_536).describe(
    'Memory of one tool host in MiB; beyond it a call ends as `out_of_memory`.',
  ),
  TOOL_HOST_MAX_CALLS: whole(10_000, 1).describe('Calls after which a tool host is replaced by a fresh one.'),
  TOOL_CONCURRENCY: whole(64, 1, 10_000).describe(
    'Calls of one tool that run at once, for tools that say nothing else; in tool hosts at most half of TOOL_HOSTS_MAX.',
  ),
  MAX_CONCURRENT_CALLS: whole(256, 1, 100_000).describe('Calls that run at once, over all batches.'),
  MAX_QUEUED_CALLS: whole(1024, 0, 100_000).describe(
    'Calls that wait for a slot, over all batches; while that many do, batches of callers that hold their share of them are answered 503.',
  ),
  MAX_EVENT_LOOP_LAG_MS: whole(250, 10, MAX_TIMER_MS).describe(
    'While the event loop keeps lagging by more, in milliseconds, part of the batches is answered 503 before it is read.',
  ),
  MAX_BATCH_CALLS: whole(64, 1, 1024).describe(
    'Calls of a batch that are run; those past it are `call_limit_exceeded`.',
  ),
  MAX_BODY_BYTES: whole(1_048_576, 1024, 268_435_456).describe('Largest request body, in bytes.'),
  MAX_RESULT_BYTES: whole(1_048_576, 1024, 268_435_456).describe('Largest value of one result, in bytes of JSON.'),
  MAX_DEADLINE_MS: whole(300_000, 1, MAX_TIMER_MS).describe(
    'Longest and default time for a whole batch, in milliseconds.',
  ),
  BATCH_CONCURRENCY: whole(16, 1, 1024).describe('Calls of one batch that run at once.'),
  REQUEST_TIMEOUT_MS: whole(30_000, 100, MAX_TIMER_MS).describe(
    'Time a client has to send its whole request, in milliseconds.',
  ),
  GRACEFUL_TOOL_ERRORS: flag(true).describe(
    'false: an unclassified exception of a tool that does not say otherwise is `fatal`.',
  ),
  SESSION_TTL_SECONDS: whole(86_400, 1).describe(
    'A session is forgotten after this time without a batch. Must exceed MAX_DEADLINE_MS.',
  ),
  SESSION_RETRIES: whole(20, 0).describe(
    'Retries failed or running, over all tools of a session that have not recovered.',
  ),
  SESSION_BUDGET_COOLDOWN_SECONDS: whole(900, 0).describe(
    "A blocked tool is free again this long after its last failed round; 0 = not before the session's end.",
  ),
  SESSION_MAX_CALLS: whole(0, 0).describe(
    'Calls that may run in one session; further ones are `call_limit_exceeded`. 0 = as many as come.',
  ),
  SESSION_MAX_ROUNDS: whole(0, 0).describe(
    "Rounds of one session, which are its agent's steps; 25 is a common choice. 0 = as many as come.",
  ),
  SESSION_JOURNAL: whole(200, 0, 10_000).describe(
    "Calls that a session's journal keeps, the last ones; 0 = no journal, and no slices of reducers.",
  ),
  RETRY_BUDGET_ON_STORE_DOWN: oneOf(['local', 'open', 'closed'])
    .default('local')
    .describe('While Redis is away: count in this process, do not count, or refuse calls with `store_unavailable`.'),
  CIRCUIT_FAILURES: whole(10, 0, 10_000).describe(
    'Batches in a row in which a tool or its upstream was at fault that open its circuit breaker; 0 = no breaker.',
  ),
  CIRCUIT_OPEN_MS: whole(10_000, 1, MAX_TIMER_MS).describe(
    'Time an open circuit refuses calls before one is let through as a probe, in milliseconds.',
  ),
  SHUTDOWN_GRACE_MS: whole(25_000, 0, MAX_TIMER_MS).describe('Time running calls get after SIGTERM, in milliseconds.'),
  METRICS_MAX_TOOLS: whole(40, 1, 1000).describe('Tools that histograms name; further ones are `_other`.'),
  FETCH_ALLOW_PRIVATE: flag(false).describe(
    'Lets `fetch_url` reach non-public addresses. Only for tests and closed networks.',
  ),
} as const;

const Settings = z.object(SETTINGS);
export type Config = Readonly<z.infer<typeof Settings>>;

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);

/** A way in which settings do not fit together. Asked only where every setting it reads is right by itself. */
type Rule = {
  readonly setting: keyof Config;
  readonly reads: readonly (keyof Config)[];
  readonly toProblem: (config: Config) => string | null;
};

const RULES: readonly Rule[] = [
  {
    setting: 'HOST',
    reads: ['HOST', 'API_KEYS', 'API_KEYS_FILE', 'ALLOW_ANONYMOUS'],
    toProblem: ({ HOST, API_KEYS, API_KEYS_FILE, ALLOW_ANONYMOUS }) =>
      ALLOW_ANONYMOUS || API_KEYS.length > 0 || API_KEYS_FILE !== undefined || isLoopback(HOST)
        ? null
        : `is ${HOST}, which others can reach, and there are no API keys: set API_KEYS, or ALLOW_ANONYMOUS=true if everyone may call`,
  },
  {
    setting: 'TOOL_HOSTS_MIN',
    reads: ['TOOL_HOSTS_MIN', 'TOOL_HOSTS_MAX'],
    toProblem: ({ TOOL_HOSTS_MIN, TOOL_HOSTS_MAX }) =>
      TOOL_HOSTS_MIN <= TOOL_HOSTS_MAX ? null : 'must not be larger than TOOL_HOSTS_MAX',
  },
  {
    setting: 'SESSION_TTL_SECONDS',
    reads: ['SESSION_TTL_SECONDS', 'MAX_DEADLINE_MS'],
    toProblem: ({ SESSION_TTL_SECONDS, MAX_DEADLINE_MS }) =>
      SESSION_TTL_SECONDS * 1000 > MAX_DEADLINE_MS
        ? null
        : 'must be longer than MAX_DEADLINE_MS, or a session could end before its batch',
  },
];

const findClashes = (config: Config, wrong: ReadonlySet<string>): readonly string[] =>
  RULES.filter(({ reads }) => !reads.some((setting) => wrong.has(setting))).flatMap(({ setting, toProblem }) => {
    const problem = toProblem(config);
    return problem === null ? [] : [`${setting} ${problem}`];
  });

/**
 * Reads the settings from the environment; an empty value means unset. Gives every mistake at once, and then a config
 * in which the wrong settings stand at their defaults, so that the others can be looked into further.
 */
export const loadConfig = (
  environment: Readonly<Record<string, string | undefined>>,
): { readonly config: Config } | { readonly config: Config; readonly mistakes: readonly string[] } => {
  const given = Object.fromEntries(
    Object.keys(SETTINGS).flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
  );
  const parsed = Settings.safeParse(given);
  const issues = parsed.success ? [] : parsed.error.issues;
  const wrong = new Set(issues.map(({ path }) => path.join('.')));
  const right = Object.fromEntries(Object.entries(given).filter(([name]) => !wrong.has(name)));
  const config = parsed.success ? parsed.data : Settings.parse(right);
  const mistakes = [
    ...issues.map(({ path, message }) => `${path.join('.')} ${message}`),
    ...findClashes(config, wrong),
  ];
  return mistakes.length === 0 ? { config } : { config, mistakes };
};
