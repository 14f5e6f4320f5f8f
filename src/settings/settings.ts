import * as z from 'zod';
import { ACCESS_SETTINGS } from './access-settings.ts';
import { flag, list, listOf, MAX_TIMER_MS, oneOf, optionalWhole, whole } from './setting-kinds.ts';
import { TOOL_SETTINGS } from './tool-settings.ts';

const VARIABLES_RULE = 'must be a comma-separated list of names of environment variables';
const PERMISSION = /^(fs-read|fs-write|net|child|worker|addons|wasi)$/;
const PERMISSIONS_RULE = 'must be a comma-separated list of fs-read, fs-write, net, child, worker, addons, wasi';
const isRedisUrl = (url: string): boolean => /^rediss?:\/\/\S+$/.test(url.trim()) && URL.canParse(url.trim());
const SECRETS_RULE =
  'must be a comma-separated list of variables, beginnings such as GITHUB_* or endings such as *_TOKEN';
const SECRET_NAMES = ['*_TOKEN', '*_KEY', '*_SECRET', '*_PASSWORD', '*_CREDENTIALS'];

/** Every setting: how it is read, its default, and what it is for. docs/configuration.md is made from this. */
export const SETTINGS = {
  ...ACCESS_SETTINGS,
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
  WORKSPACE_DIR: z
    .string()
    .optional()
    .describe(
      'Root of the file tools, which models write to: a directory of its own, without control files. Unset: the example workspace.',
    ),
  CONFIG_FILE: z
    .string()
    .optional()
    .describe(
      'The configuration file for MCP servers, OpenAPI imports and tools: YAML or JSON. Unset: `recourse.config.yaml`, `.yml` or `.json` of the working directory, if there is one.',
    ),
  MCP_SERVER: flag(true).describe('Whether `/mcp` serves the tools to MCP clients (Streamable HTTP).'),
  MCP_DEFAULT_SESSION: oneOf(['none', 'key'])
    .default('none')
    .describe(
      'The session of a call at `/mcp` that names none: none, so that its retries are not counted, or one that all such calls of an API key share.',
    ),
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
  TOOL_HOSTS_OWN: list.describe(
    'Comma-separated names of tools, or beginnings such as `pdf_*`, whose files share their processes with no other file.',
  ),
  TOOL_HOSTS_MIN: optionalWhole(0, 1024).describe(
    'Tool hosts that are kept warm. Unset: 2, or TOOL_HOSTS_MAX where that is less.',
  ),
  TOOL_HOSTS_MAX: optionalWhole(1, 1024).describe(
    'Most tool hosts. Unset: as many as half of the memory holds at 64 MiB each, at most 32. Idle ones beyond TOOL_HOSTS_MIN end after 30 s.',
  ),
  TOOL_HOST_MEMORY_MB: optionalWhole(160, 65_536).describe(
    'Memory of one tool host in MiB; beyond it a call ends as `out_of_memory`. Unset: a quarter of the memory, from 160 to 512.',
  ),
  TOOL_HOST_MAX_CALLS: whole(10_000, 1).describe('Calls after which a tool host is replaced by a fresh one.'),
  TOOL_CONCURRENCY: whole(512, 1, 10_000).describe(
    'Calls of one tool that run at once, for tools that say nothing else.',
  ),
  TENANT_CONCURRENCY: whole(768, 1, 100_000).describe(
    'Calls of one tenant that run at once, over all its batches; without keys, of one address.',
  ),
  MAX_CONCURRENT_CALLS: whole(1024, 1, 100_000).describe('Calls that run at once, over all batches.'),
  MAX_QUEUED_CALLS: whole(2048, 0, 100_000).describe(
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
  MAX_ANSWER_BYTES: whole(4_194_304, 4096, 268_435_456).describe(
    'Largest answer of one batch, in bytes of JSON: the values of calls beyond it are left out. At least MAX_RESULT_BYTES.',
  ),
  ANSWER_MEMORY_MB: whole(192, 1, 65_536).describe(
    'Memory of all answers that are being made or not sent yet, in MiB; one caller gets at most half. Without room batches are answered 503. At least ten times MAX_ANSWER_BYTES.',
  ),
  ANSWER_STALL_MS: whole(30_000, 100, MAX_TIMER_MS).describe(
    'A connection whose client takes nothing of an answer for this time is ended, in milliseconds.',
  ),
  MAX_DEADLINE_MS: whole(300_000, 1, MAX_TIMER_MS).describe(
    'Longest and default time for a whole batch, in milliseconds.',
  ),
  BATCH_CONCURRENCY: whole(64, 1, 1024).describe('Calls of one batch that run at once.'),
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
  STORE_MEMORY_MB: optionalWhole(8, 1_048_576).describe(
    'Memory in MiB of all that this process remembers: sessions, journals, keyed records, pages, rates, circuits. At most 35 % of the heap, which it is where unset; the oldest of the tenant that holds most is forgotten first.',
  ),
  RETRY_BUDGET_ON_STORE_DOWN: oneOf(['local', 'open', 'closed'])
    .default('local')
    .describe('While Redis is away: count in this process, do not count, or refuse calls with `store_unavailable`.'),
  STORE_DROPPABLE_PERCENT: whole(60, 1, 70).describe(
    "Per cent of Redis's memory that journals and results kept under an Idempotency-Key may take together; beyond it the oldest are dropped.",
  ),
  STORE_TENANT_PERCENT: whole(50, 1, 100).describe(
    'Per cent of that part that one tenant may hold; beyond it its own oldest are dropped, and what comes too fast is not kept. 100 for a service with one tenant.',
  ),
  REDIS_MEMORY_MB: whole(256, 1, 16_777_216).describe(
    "Redis's memory in MiB, of which the two parts are reckoned where Redis has no `maxmemory` or does not tell it.",
  ),
  CIRCUIT_FAILURES: whole(10, 0, 10_000).describe(
    'Batches in a row in which a tool or its upstream was at fault that open its circuit breaker; 0 = no breaker.',
  ),
  CIRCUIT_OPEN_MS: whole(10_000, 1, MAX_TIMER_MS).describe(
    'Time an open circuit refuses calls before one is let through as a probe, in milliseconds.',
  ),
  SHUTDOWN_GRACE_MS: whole(25_000, 0, MAX_TIMER_MS).describe('Time running calls get after SIGTERM, in milliseconds.'),
  METRICS_MAX_TOOLS: whole(40, 1, 1000).describe('Tools that histograms name; further ones are `_other`.'),
  SECRETS_ENV: listOf(/^(\*?[A-Za-z_]\w*|[A-Za-z_]\w*\*)$/, SECRETS_RULE, SECRET_NAMES).describe(
    'Comma-separated variables whose values are secret, as names, beginnings (`GITHUB_*`) or endings (`*_TOKEN`): such a value of 8 characters or more is replaced in results, logs, spans and journals.',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .string()
    .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), 'must be an http:// or https:// address')
    .optional()
    .describe(
      'Base address of an OTLP/HTTP collector that traces go to. Unset: no traces. docs/tracing.md lists the other variables that hold.',
    ),
  TRACE_CONTENT: flag(false).describe('Put arguments and results of calls into spans.'),
  ...TOOL_SETTINGS,
  FETCH_ALLOW_ADDRESSES: list.describe(
    "Comma-separated addresses and prefixes (`10.1.0.0/16`) that `fetch_url` may reach although they are not public, or are this machine's or its neighbours'.",
  ),
  FETCH_ALLOW_PRIVATE: flag(false).describe(
    'Lets `fetch_url` reach non-public addresses. Only for tests and closed networks.',
  ),
} as const;
