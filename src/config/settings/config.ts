import { getHeapStatistics } from 'node:v8';
import * as z from 'zod';
import { isLoopback } from '../../auth/origins.ts';
import type { ExtensionSet } from '../../extensions/extension-set.ts';
import { toRequestBytes } from '../../memory/store-memory.ts';
import { OWN_EXTENSIONS } from '../../packages.ts';
import { findAuditProblem } from './audit-choice.ts';
import { createGroupList, SETTINGS } from './settings.ts';
import { findStoreProblem } from './store-choice.ts';
import { explainValue } from './value-hint.ts';

const Settings = z.object(SETTINGS);

/** What the settings say. Those of extensions that only this service has are in it, too, each as its extension reads it. */
export type Config = Readonly<z.infer<typeof Settings>> & {
  /** Of the product and of EXTENSIONS. */
  readonly extensions: ExtensionSet;
};

/** Whether callers must show who they are. */
export const hasKeys = (config: Pick<Config, 'API_KEYS' | 'API_KEYS_FILE' | 'JWT_JWKS_URL'>): boolean =>
  config.API_KEYS.length > 0 || config.API_KEYS_FILE !== undefined || config.JWT_JWKS_URL !== undefined;

/** Whether a collector of traces is named, and OpenTelemetry not switched off by its own variable. */
export const isTraced = (
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: Pick<Config, 'OTEL_EXPORTER_OTLP_ENDPOINT'>,
  environment: Readonly<Record<string, string | undefined>>,
): boolean => endpoint !== undefined && environment['OTEL_SDK_DISABLED']?.trim().toLowerCase() !== 'true';

/** The setting to blame, then the others that decide; and what is wrong with the first, or null. */
type Rule = readonly [reads: readonly string[], findProblem: (config: Config) => string | null];

/** Ways in which settings do not fit together. Asked only where every setting that a rule reads is right by itself. */
const RULES: readonly Rule[] = [
  [
    ['HOST', 'API_KEYS', 'API_KEYS_FILE', 'JWT_JWKS_URL', 'ALLOW_ANONYMOUS'],
    (config) =>
      config.ALLOW_ANONYMOUS || hasKeys(config) || isLoopback(config.HOST)
        ? null
        : `is ${config.HOST}, which other machines can reach, and no API keys are configured: set API_KEYS, or ALLOW_ANONYMOUS=true to allow everyone`,
  ],
  [
    ['OPS_PORT', 'PORT'],
    ({ OPS_PORT, PORT }) => (OPS_PORT !== 0 && OPS_PORT === PORT ? 'must differ from PORT: choose another port' : null),
  ],
  [
    ['JWT_JWKS_URL', 'JWT_ISSUER', 'JWT_AUDIENCE'],
    ({ JWT_JWKS_URL, JWT_ISSUER, JWT_AUDIENCE }) =>
      (JWT_JWKS_URL === undefined) === (JWT_ISSUER === undefined && JWT_AUDIENCE === undefined)
        ? null
        : 'must be set together with JWT_ISSUER or JWT_AUDIENCE, so that tokens issued for other services are refused',
  ],
  [
    ['ROLE', 'REDIS_URL'],
    ({ ROLE, REDIS_URL }) =>
      ROLE === 'all' || REDIS_URL !== undefined
        ? null
        : `is ${ROLE}, which needs REDIS_URL: without Redis, calls wait in the process that accepted them`,
  ],
  [['STORE', 'REDIS_URL'], findStoreProblem],
  [['AUDIT', 'AUDIT_REQUIRED'], findAuditProblem],
  [
    ['STORE_SEALED', 'STORE_KEYS'],
    ({ STORE_SEALED, STORE_KEYS }) =>
      STORE_SEALED === undefined || STORE_KEYS.length > 0
        ? null
        : `is ${STORE_SEALED}, and STORE_KEYS is not set: make a key with recourse key --store, or unset STORE_SEALED`,
  ],
  [
    ['TOOL_HOSTS_MIN', 'TOOL_HOSTS_MAX'],
    ({ TOOL_HOSTS_MIN: least = 0, TOOL_HOSTS_MAX: most = least }) =>
      least <= most ? null : 'must not be larger than TOOL_HOSTS_MAX',
  ],
  [
    ['MAX_ANSWER_BYTES', 'MAX_RESULT_BYTES'],
    ({ MAX_ANSWER_BYTES, MAX_RESULT_BYTES }) =>
      MAX_ANSWER_BYTES >= MAX_RESULT_BYTES ? null : 'must not be smaller than MAX_RESULT_BYTES',
  ],
  [
    ['REQUEST_MEMORY_MB', 'MAX_ANSWER_BYTES', 'MAX_BODY_BYTES'],
    ({ REQUEST_MEMORY_MB, MAX_ANSWER_BYTES, MAX_BODY_BYTES }) => {
      const least = 8 * MAX_ANSWER_BYTES + 4 * MAX_BODY_BYTES;
      const bytes = toRequestBytes(getHeapStatistics().heap_size_limit, REQUEST_MEMORY_MB);
      return bytes >= least
        ? null
        : `is ${toMib(bytes)} MiB (unset: 20 % of the heap), and must be at least ${toMib(least)}: eight times MAX_ANSWER_BYTES and four times MAX_BODY_BYTES together, or one batch could use up the share of its caller. Lower these, or give the service more memory`;
    },
  ],
  [
    ['TOOLS_PERMISSIONS'],
    ({ TOOLS_PERMISSIONS }) =>
      TOOLS_PERMISSIONS.includes('net') || process.allowedNodeEnvironmentFlags.has('--allow-net')
        ? null
        : `omits net, but Node.js ${process.version} cannot keep tools from using the network: add net, or run Node.js 25 or newer`,
  ],
  [
    ['SESSION_TTL_SECONDS', 'MAX_DEADLINE_MS'],
    ({ SESSION_TTL_SECONDS, MAX_DEADLINE_MS }) =>
      SESSION_TTL_SECONDS * 1000 > MAX_DEADLINE_MS
        ? null
        : 'must be longer than MAX_DEADLINE_MS, or a session could expire before its batch ends',
  ],
];

const toMib = (bytes: number): number => Math.ceil(bytes / 1_048_576);

/** A shell expands `~`; a file of variables, Docker and systemd do not. A program may be a name. */
const createTildeRules = ({ purposes }: ExtensionSet): readonly Rule[] => {
  const paths = purposes.filter(({ path = 'program' }) => path !== 'program').map(({ setting }) => setting);
  return ['WORKSPACE_DIR', 'CONFIG_FILE', 'TOOLS_DIR', 'API_KEYS_FILE', ...paths].map((setting) => [
    [setting],
    (config) =>
      String(Reflect.get(config, setting)).startsWith('~')
        ? 'begins with ~, which only a shell expands: write the absolute path'
        : null,
  ]);
};

/**
 * Reads the settings from the environment; an empty value means unset. Gives every mistake at once, and then a config
 * in which the wrong settings stand at their defaults, so that the others can be looked into further.
 */
export const loadConfig = (
  environment: Readonly<Record<string, string | undefined>>,
  extensions: ExtensionSet = OWN_EXTENSIONS,
): { readonly config: Config } | { readonly config: Config; readonly mistakes: readonly string[] } => {
  const schema = createSchema(extensions);
  const input = new Map(Object.keys(schema.shape).map((name) => [name, environment[name] || undefined]));
  const parsed = schema.safeParse(Object.fromEntries(input));
  const wrong = Map.groupBy(parsed.error?.issues ?? [], ({ path: [setting] }) => String(setting));
  const right = Object.fromEntries([...input].filter(([name]) => !wrong.has(name)));
  const config = { ...(parsed.data ?? readRight(right, extensions)), extensions };
  const mistakes = [
    // Of a list with several wrong items the first.
    ...[...wrong].flatMap(([setting, [issue]]) =>
      issue === undefined ? [] : explainIssue(setting, issue, input, extensions),
    ),
    ...findFormer(environment),
    ...[...RULES, ...createTildeRules(extensions)]
      .filter(([reads]) => !reads.some((setting) => wrong.has(setting)))
      .flatMap(([[setting], findProblem]) => {
        const problem = findProblem(config);
        return problem === null ? [] : [`${setting} ${problem}`];
      }),
  ];
  return mistakes.length === 0 ? { config } : { config, mistakes };
};

const NO_PARTS =
  'is no longer a setting: nothing that is in Redis is dropped. From 75 % of its memory on journals and results are not written; docs/deployment.md#what-redis-holds';

const FORMER: Readonly<Record<string, string>> = {
  STORE_DROPPABLE_PERCENT: NO_PARTS,
  STORE_TENANT_PERCENT: NO_PARTS,
  WORKER_STALL_MS:
    'is no longer a setting: a queued call begins again some 6 s after the death of its worker, and after an outage of Redis workers renew their leases before any is taken; docs/semantics.md#calls-that-outlive-their-request',
  ANSWER_MEMORY_MB:
    'is no longer a setting: REQUEST_MEMORY_MB bounds answers together with request bodies, streams and pending calls. Unset, it is 20 % of the heap',
};

/** Settings of earlier versions: a limit that an operator relies on must not disappear without a message. */
const findFormer = (environment: Readonly<Record<string, string | undefined>>): readonly string[] =>
  Object.entries(FORMER).flatMap(([name, text]) => (environment[name] ? [`${name} ${text}`] : []));

const explainIssue = (
  setting: string,
  issue: z.core.$ZodIssue,
  given: ReadonlyMap<string, string | undefined>,
  { settings }: ExtensionSet,
): string => {
  const value = given.get(setting);
  if (value === undefined)
    return `${setting} is not set, and an extension needs it: ${describeSetting(settings[setting])}`;
  const words = issue.code === 'invalid_value' ? issue.values.map(String) : [];
  return `${setting} ${issue.message}${explainValue({ setting, value, allowed: words })}`;
};

const describeSetting = (schema: z.ZodType | undefined): string =>
  (schema === undefined ? undefined : z.globalRegistry.get(schema)?.description) ?? 'it has no description.';

/** What can be read where some settings are wrong. Those of extensions may be required, and are then left out. */
const readRight = (right: Readonly<Record<string, unknown>>, { settings }: ExtensionSet) => ({
  // The service's own schema does not know the groups of other extensions.
  ...Settings.parse(settings === OWN_EXTENSIONS.settings ? right : { ...right, TOOL_GROUPS: undefined }),
  ...Object.fromEntries(Object.entries(settings).map(([name, schema]) => [name, schema.safeParse(right[name]).data])),
});

/** The schema of all settings where there are these extensions. */
const createSchema = (extensions: ExtensionSet): typeof Settings =>
  extensions === OWN_EXTENSIONS
    ? Settings
    : z.object(
        Object.assign(
          { ...SETTINGS, TOOL_GROUPS: createGroupList([...extensions.groups.keys()]) },
          extensions.settings,
        ),
      );
