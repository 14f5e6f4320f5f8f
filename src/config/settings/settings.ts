import * as z from 'zod';
import { DURATION } from '../../contract/duration.ts';
import {
  flag,
  list,
  listOf,
  listOfWords,
  MAX_TIMER_MS,
  oneOf,
  optionalWhole,
  whole,
} from '../../extensions/setting-kinds.ts';
import { EXTENSION_SETTINGS, OWN_EXTENSIONS } from '../../packages.ts';
import { isSentinelUrl, parseSentinelUrl, splitRedisUrl } from '../../sessions/redis-url.ts';
import { ACCESS_SETTINGS } from './access-settings.ts';
import { AUDIT_RULE, parseAudit } from './audit-choice.ts';
import { LANE_NAME } from './lanes.ts';
import { parseStore, STORE_RULE } from './store-choice.ts';
import { parseStoreKeys } from './store-keys.ts';

// Each is seven series of every replica.
const MOST_METRIC_TENANTS = 100;
const VARIABLES_RULE = 'must be a comma-separated list of names of environment variables';
const PERMISSIONS = ['fs-read', 'fs-write', 'net', 'child', 'worker', 'addons', 'wasi'] as const;
const isServerUrl = (url: string): boolean => /^rediss?:\/\/\S+$/.test(url) && URL.canParse(url);
const isRedisUrl = (url: string): boolean =>
  isSentinelUrl(url) ? parseSentinelUrl(url) !== null : splitRedisUrl(url).every(isServerUrl);
const SECRETS_RULE =
  'must be a comma-separated list of variables, prefixes such as GITHUB_* or suffixes such as *_TOKEN';
const SECRET_NAMES = ['*_TOKEN', '*_KEY', '*_SECRET', '*_PASSWORD', '*_CREDENTIALS'];

/** How TOOL_GROUPS is read where these are its words. */
export const createGroupList = (words: readonly string[]) =>
  listOfWords(words).describe(
    `Comma-separated optional tool groups to enable: ${words.join(', ')}. See docs/tools.md.`,
  );

/** Which tools are offered, and the settings that the extensions of every service declare. */
export const TOOL_SETTINGS = { TOOL_GROUPS: createGroupList([...OWN_EXTENSIONS.groups.keys()]), ...EXTENSION_SETTINGS };

/** Every setting: how it is read, its default, and what it is for. docs/configuration.md is made from this. */
export const SETTINGS = {
  ...ACCESS_SETTINGS,
  LOG_LEVEL_FORMAT: oneOf(['number', 'name']).default('number').describe('`level` of a log line: 30, or `info`.'),
  LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('The lowest level that is logged.'),
  AUDIT: z
    .string()
    .refine((text) => parseAudit(text) !== null, AUDIT_RULE)
    .default('off')
    .describe(
      'Where a line of JSON for each call, decision and verdict goes: `off`, `stdout` (among the lines of the log) or `file:PATH` (appended to, one file for each process); docs/audit.md.',
    ),
  AUDIT_ARGUMENTS: oneOf(['digest', 'redacted'])
    .default('digest')
    .describe('What audit lines show of arguments: their SHA-256, or their text without secrets.'),
  AUDIT_REQUIRED: flag(false).describe(
    'true: while audit lines cannot be written, writes are refused (`audit_unavailable`).',
  ),
  STORE: z
    .string()
    .refine((text) => parseStore(text) !== null, STORE_RULE)
    .optional()
    .describe(
      'Where sessions and all else that is kept between requests are: `memory` of this process, `sqlite:PATH` (a file on the disk of this machine, which one process uses; `sqlite:PATH?durable=power` also survives a power cut), or `redis`. Unset: `redis` if REDIS_URL is set, else `memory`.',
    ),
  REDIS_URL: z
    .string()
    .refine(
      isRedisUrl,
      'must be redis://… or rediss://…, a comma-separated list of them, or redis+sentinel://HOST/NAME',
    )
    .optional()
    .describe(
      'The Redis that stores what replicas share: redis://, rediss://, a comma-separated list of cluster nodes, or `redis+sentinel://[user:password@]host[:26379][,host]/NAME[/db]` (`rediss+sentinel` for TLS). Unset: the memory of this process, or the file that STORE names.',
    ),
  REDIS_SENTINEL_PASSWORD: z
    .string()
    .optional()
    .describe('Password of the Sentinels; the credentials in REDIS_URL are for the servers behind them.'),
  STORE_KEYS: list
    .superRefine((entries, context) => {
      const keys = parseStoreKeys(entries);
      if ('mistake' in keys) context.addIssue({ code: 'custom', message: keys.mistake });
    })
    .describe(
      'Comma-separated keys, each `id:base64` with 32 random bytes, that seal pending calls and webhook messages in Redis or SQLite: the first seals, all open. `recourse key --store` creates one. Secret; docs/security.md#keys-of-the-store.',
    ),
  STORE_SEALED: oneOf(['optional', 'required'])
    .optional()
    .describe(
      'Whether a pending call or a message that is not sealed is acted on: `optional` while STORE_KEYS is rolled out for the first time, else `required`. Unset: `required` if STORE_KEYS is set.',
    ),
  WORKSPACE_DIR: z
    .string()
    .optional()
    .describe(
      'Directory of the file tools, which models write to: without configuration, tools, keys or program files, which are refused. Unset: the example workspace.',
    ),
  CONFIG_FILE: z
    .string()
    .optional()
    .describe(
      'The configuration file for MCP servers, OpenAPI imports and tools. Unset: `recourse.config.yaml`, `.yml` or `.json` of the working directory, if present.',
    ),
  EXTENSIONS: list.describe(
    'Comma-separated modules that extend the service, as paths (`./clock.ts`) or packages; docs/extensions.md. They run inside it: name none that you would not run yourself.',
  ),
  TOOLS_DIR: z
    .string()
    .optional()
    .describe('A directory of your own tools, loaded in tool hosts and watched for changes.'),
  TOOLS_ENV: listOf(/^[A-Za-z_]\w*$/, VARIABLES_RULE).describe(
    'Comma-separated variables that every tool host gets, beside PATH, HOME, TZ, LANG and NODE_EXTRA_CA_CERTS.',
  ),
  TOOLS_ENV_ALLOW: listOf(/^[A-Za-z_]\w*\*?$/, `${VARIABLES_RULE}, or prefixes such as GITHUB_*`).describe(
    'Comma-separated variables, or prefixes such as `GITHUB_*`, that a tool gets if it declares them.',
  ),
  TOOLS_PERMISSIONS: listOfWords(PERMISSIONS, ['fs-read', 'fs-write', 'net', 'child']).describe(
    "What tool hosts may do under Node's permission model: fs-read, fs-write, net, child, worker, addons, wasi. On Node 24 net must be among them.",
  ),
  TOOLS_INLINE: list.describe(
    'Comma-separated tools of TOOLS_DIR that may run inside the service if they request it: their crash is that of the service.',
  ),
  TOOLS_ISOLATION: oneOf(['shared', 'own'])
    .default('shared')
    .describe(
      'own: each file of TOOLS_DIR has processes of its own. shared: only those whose tools ask for it or stand in TOOL_HOSTS_OWN.',
    ),
  TOOL_HOSTS_OWN: list.describe(
    'Comma-separated tools, or prefixes such as `pdf_*`, whose files share processes with no other file.',
  ),
  TOOLS_REQUIRED: listOf(
    /^[A-Za-z0-9_.-]{1,64}$/,
    'must be all, or a comma-separated list of tools and of prefixes that end with _, - or .',
  ).describe(
    '`/ready` is 503 until these tools serve: `all` files of TOOLS_DIR, MCP servers and imports, or comma-separated tools and prefixes that end with `_`, `-` or `.`: `pay_,refund`.',
  ),
  TOOL_HOSTS_MIN: optionalWhole(0, 1024).describe(
    'Tool hosts that are kept warm. Unset: 2, or TOOL_HOSTS_MAX where that is less.',
  ),
  TOOL_HOSTS_MAX: optionalWhole(1, 1024).describe(
    'Maximum number of tool hosts. Unset: half of the memory divided by 64 MiB, at most 32. Idle ones above TOOL_HOSTS_MIN end after 30 s.',
  ),
  TOOL_HOST_MEMORY_MB: optionalWhole(160, 65_536).describe(
    'Memory limit of one tool host in MiB; a call that exceeds it ends as `out_of_memory`. Unset: a quarter of the memory, from 160 to 512.',
  ),
  TOOL_HOST_MAX_CALLS: whole(10_000, 1).describe('Calls after which a tool host is replaced by a fresh one.'),
  TOOL_CONCURRENCY: whole(512, 1, 10_000).describe('Concurrent calls of one tool without its own `concurrency`.'),
  TENANT_CONCURRENCY: whole(768, 1, 100_000).describe('Concurrent calls of one tenant; without keys, of one address.'),
  MAX_CONCURRENT_CALLS: whole(1024, 1, 100_000).describe('Concurrent calls, over all batches.'),
  MAX_QUEUED_CALLS: whole(2048, 0, 100_000).describe(
    'Calls that wait for a slot; at this number, batches of callers that use their share are answered 503.',
  ),
  MAX_EVENT_LOOP_LAG_MS: whole(250, 10, MAX_TIMER_MS).describe(
    'Event loop lag in milliseconds above which a part of the batches is answered 503.',
  ),
  MAX_BATCH_CALLS: whole(64, 1, 1024).describe('Calls of one batch that run; further ones are `call_limit_exceeded`.'),
  MAX_BODY_BYTES: whole(1_048_576, 1024, 268_435_456).describe('Largest request body, in bytes.'),
  MAX_RESULT_BYTES: whole(1_048_576, 1024, 268_435_456).describe('Largest value of one result, in bytes of JSON.'),
  MAX_ANSWER_BYTES: whole(4_194_304, 4096, 268_435_456).describe(
    'Largest answer of one batch, in bytes of JSON; values beyond it are left out. At least MAX_RESULT_BYTES.',
  ),
  REQUEST_MEMORY_MB: optionalWhole(1, 1_048_576).describe(
    'Memory in MiB for requests, their answers, streams and pending calls; one caller gets at most half. When full, batches are answered 503. At most 20 % of the heap, which is the default. At least eight times MAX_ANSWER_BYTES and four times MAX_BODY_BYTES together.',
  ),
  ANSWER_STALL_MS: whole(30_000, 100, MAX_TIMER_MS).describe(
    'Milliseconds after which a connection whose client does not read its answer is closed.',
  ),
  MAX_DEADLINE_MS: whole(300_000, 1, MAX_TIMER_MS).describe(
    'Maximum and default time for a whole batch, in milliseconds.',
  ),
  BATCH_CONCURRENCY: whole(64, 1, 1024).describe('Concurrent calls of one batch.'),
  REQUEST_TIMEOUT_MS: whole(30_000, 100, MAX_TIMER_MS).describe(
    'Time a client has to send its whole request, in milliseconds.',
  ),
  GRACEFUL_TOOL_ERRORS: flag(true).describe(
    'false: an unclassified exception is `fatal`, unless the tool declares otherwise.',
  ),
  SESSION_TTL_SECONDS: whole(86_400, 1).describe(
    'A session expires after this time without a batch. Must exceed MAX_DEADLINE_MS.',
  ),
  SESSION_RETRIES: whole(20, 0).describe('Retries of one session, over all tools that have not recovered.'),
  SESSION_BUDGET_COOLDOWN_SECONDS: whole(900, 0).describe(
    'Time after its last failed round until a blocked tool is available again; 0 = the end of the session.',
  ),
  SESSION_MAX_CALLS: whole(0, 0).describe('Calls that may run in one session. 0 = unlimited.'),
  SESSION_MAX_ROUNDS: whole(0, 0).describe('Rounds (steps of the agent) of one session, such as 25. 0 = unlimited.'),
  SESSION_MAX_PENDING: whole(16, 1).describe('Pending calls of one session. Further ones are `call_limit_exceeded`.'),
  KEY_MAX_PENDING: whole(2000, 1).describe(
    'The same for one API key, for the tokens of one tenant together, or for one address of anonymous callers.',
  ),
  MAX_PENDING: whole(20_000, 1).describe('The same for the whole service. Further ones are `overloaded`.'),
  SESSION_IDS: oneOf(['hash', 'clear'])
    .default('hash')
    .describe(
      '`clear`: lists of sessions show ids as callers chose them; else the SHA-256 alone, of which the log has 8 digits.',
    ),
  SESSION_JOURNAL: whole(200, 0, 10_000).describe(
    'Number of latest calls in the journal of a session; 0 = no journal and no reducer slices.',
  ),
  STORE_MEMORY_MB: optionalWhole(8, 1_048_576).describe(
    'Memory in MiB of what this process stores. At most 35 % of the heap, which is the default; docs/deployment.md#memory-of-the-service.',
  ),
  RETRY_BUDGET_ON_STORE_DOWN: oneOf(['local', 'open', 'closed'])
    .default('local')
    .describe(
      'While Redis, or the file of SQLite, is unavailable: count in this process (local), do not count (open), or refuse calls (closed).',
    ),
  REDIS_MEMORY_MB: whole(256, 1, 16_777_216).describe(
    'Memory of Redis in MiB if Redis has no `maxmemory` or does not report it; docs/deployment.md#what-redis-holds.',
  ),
  CIRCUIT_FAILURES: whole(10, 0, 10_000).describe(
    'Consecutive batches with a fault of a tool or its upstream that open its circuit; 0 = never.',
  ),
  CIRCUIT_OPEN_MS: whole(10_000, 1, MAX_TIMER_MS).describe('Milliseconds for which an open circuit refuses calls.'),
  RECONCILE_DELAYS: listOf(DURATION, 'must be durations such as 200ms,30s,2m,6h', [
    '1s',
    '5s',
    '30s',
    '2m',
    '10m',
    '1h',
    '6h',
  ]).describe(
    'When a write whose outcome is unknown is looked for again, after each look; the last one repeats. It is looked for for 24 hours.',
  ),
  SHUTDOWN_GRACE_MS: whole(25_000, 0, MAX_TIMER_MS).describe(
    'Time that running calls get after SIGTERM, in milliseconds.',
  ),
  ROLE: oneOf(['all', 'api', 'worker'])
    .default('all')
    .describe(
      'What this process does: answer requests (api), run queued calls (worker), or both (all). api and worker need REDIS_URL.',
    ),
  WORKER_LANES: listOf(LANE_NAME, 'must be a comma-separated list of lanes').describe(
    'Comma-separated lanes whose calls this process runs. Unset: all.',
  ),
  WORKER_CONCURRENCY: whole(16, 1, 10_000).describe(
    'Queued calls that run at once in a lane without its own `concurrency`. From 2 on, the last slot is kept for a tenant that has nothing running in the lane.',
  ),
  WORKER_GRACE_MS: optionalWhole(0, MAX_TIMER_MS).describe(
    'Milliseconds that queued writes get after SIGTERM. Unset: SHUTDOWN_GRACE_MS.',
  ),
  METRICS_MAX_TOOLS: whole(40, 1, 1000).describe(
    'Number of tools with their own histogram label; further ones are `_other`.',
  ),
  METRICS_TENANTS: listOf(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be a comma-separated list of tenants')
    .refine((tenants) => tenants.length <= MOST_METRIC_TENANTS, `must name at most ${MOST_METRIC_TENANTS} tenants`)
    .describe(
      'Comma-separated tenants with their own label in metrics, at most 100; others are `_other`. Unset: no metric has a tenant.',
    ),
  SECRETS_ENV: listOf(/^(\*?[A-Za-z_]\w*|[A-Za-z_]\w*\*)$/, SECRETS_RULE, SECRET_NAMES).describe(
    'Comma-separated variables whose values are redacted, as names, prefixes (`GITHUB_*`) or suffixes (`*_TOKEN`).',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .string()
    .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), 'must be an http:// or https:// address')
    .optional()
    .describe(
      'Base URL of the OTLP/HTTP collector of traces. Unset: no traces. Other variables: docs/operations.md#traces.',
    ),
  TRACE_CONTENT: flag(false).describe('Record arguments and results of calls in spans.'),
  ...TOOL_SETTINGS,
} as const;
