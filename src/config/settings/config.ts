import { isIP } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import * as z from 'zod';
import { loadApiKeys } from '../../auth/api-keys.ts';
import { isLoopback } from '../../auth/origins.ts';
import type { ExtensionSet } from '../../extensions/extension-set.ts';
import { toRequestBytes } from '../../memory/store-memory.ts';
import { OWN_EXTENSIONS } from '../../packages.ts';
import { SETTINGS } from './settings.ts';
import { toStoreProblem } from './store-choice.ts';
import { toGroupList } from './tool-settings.ts';
import { toValueHint } from './value-hint.ts';

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

/** A way in which settings do not fit together. Asked only where every setting it reads is right by itself. */
type Rule = {
  readonly setting: string;
  readonly reads: readonly string[];
  readonly toProblem: (config: Config) => string | null;
};

const isAddressOrPrefix = (text: string): boolean => {
  const [address = '', bits] = text.split('/', 2);
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (most < 0 || text.split('/').length > 2) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
};

const toLeastMemoryText = (bytes: number, least: number): string =>
  `is ${toMib(bytes)} MiB (unset: 20 % of the heap), and must be at least ${toMib(least)}: eight times MAX_ANSWER_BYTES and four times MAX_BODY_BYTES together, or one batch could use up the share of its caller. Lower these, or give the service more memory`;

const toMib = (bytes: number): number => Math.ceil(bytes / 1_048_576);

const RULES: readonly Rule[] = [
  {
    setting: 'API_KEYS',
    reads: ['API_KEYS'],
    toProblem: ({ API_KEYS }) => {
      const [mistake] = loadApiKeys({ entries: API_KEYS, fileText: null }).mistakes;
      return mistake === undefined ? null : `is invalid: ${mistake}`;
    },
  },
  {
    setting: 'HOST',
    reads: ['HOST', 'API_KEYS', 'API_KEYS_FILE', 'JWT_JWKS_URL', 'ALLOW_ANONYMOUS'],
    toProblem: (config) =>
      config.ALLOW_ANONYMOUS || hasKeys(config) || isLoopback(config.HOST)
        ? null
        : `is ${config.HOST}, which other machines can reach, and no API keys are configured: set API_KEYS, or ALLOW_ANONYMOUS=true to allow everyone`,
  },
  {
    setting: 'OPS_PORT',
    reads: ['OPS_PORT', 'PORT'],
    toProblem: ({ OPS_PORT, PORT }) =>
      OPS_PORT === undefined || OPS_PORT === 0 || OPS_PORT !== PORT
        ? null
        : 'must differ from PORT: choose another port',
  },
  {
    setting: 'JWT_JWKS_URL',
    reads: ['JWT_JWKS_URL', 'JWT_ISSUER', 'JWT_AUDIENCE'],
    toProblem: ({ JWT_JWKS_URL, JWT_ISSUER, JWT_AUDIENCE }) =>
      (JWT_JWKS_URL === undefined) === (JWT_ISSUER === undefined && JWT_AUDIENCE === undefined)
        ? null
        : 'must be set together with JWT_ISSUER or JWT_AUDIENCE, so that tokens issued for other services are refused',
  },
  {
    setting: 'ROLE',
    reads: ['ROLE', 'REDIS_URL'],
    toProblem: ({ ROLE, REDIS_URL }) =>
      ROLE === 'all' || REDIS_URL !== undefined
        ? null
        : `is ${ROLE}, which needs REDIS_URL: without Redis, calls wait in the process that accepted them`,
  },
  { setting: 'STORE', reads: ['STORE', 'REDIS_URL'], toProblem: toStoreProblem },
  {
    setting: 'STORE_SEALED',
    reads: ['STORE_SEALED', 'STORE_KEYS'],
    toProblem: ({ STORE_SEALED, STORE_KEYS }) =>
      STORE_SEALED === undefined || STORE_KEYS.length > 0
        ? null
        : `is ${STORE_SEALED}, and STORE_KEYS is not set: make a key with recourse key --store, or unset STORE_SEALED`,
  },
  {
    setting: 'FETCH_ALLOW_ADDRESSES',
    reads: ['FETCH_ALLOW_ADDRESSES'],
    toProblem: ({ FETCH_ALLOW_ADDRESSES }) =>
      FETCH_ALLOW_ADDRESSES.every(isAddressOrPrefix)
        ? null
        : 'must be a comma-separated list of IP addresses and prefixes, for example 10.1.0.0/16,2001:db8::1',
  },
  {
    setting: 'TOOL_HOSTS_MIN',
    reads: ['TOOL_HOSTS_MIN', 'TOOL_HOSTS_MAX'],
    toProblem: ({ TOOL_HOSTS_MIN, TOOL_HOSTS_MAX }) =>
      TOOL_HOSTS_MIN === undefined || TOOL_HOSTS_MAX === undefined || TOOL_HOSTS_MIN <= TOOL_HOSTS_MAX
        ? null
        : 'must not be larger than TOOL_HOSTS_MAX',
  },
  {
    setting: 'MAX_ANSWER_BYTES',
    reads: ['MAX_ANSWER_BYTES', 'MAX_RESULT_BYTES'],
    toProblem: ({ MAX_ANSWER_BYTES, MAX_RESULT_BYTES }) =>
      MAX_ANSWER_BYTES >= MAX_RESULT_BYTES ? null : 'must not be smaller than MAX_RESULT_BYTES',
  },
  {
    setting: 'REQUEST_MEMORY_MB',
    reads: ['REQUEST_MEMORY_MB', 'MAX_ANSWER_BYTES', 'MAX_BODY_BYTES'],
    toProblem: ({ REQUEST_MEMORY_MB, MAX_ANSWER_BYTES, MAX_BODY_BYTES }) => {
      const least = 8 * MAX_ANSWER_BYTES + 4 * MAX_BODY_BYTES;
      const bytes = toRequestBytes(getHeapStatistics().heap_size_limit, REQUEST_MEMORY_MB);
      return bytes >= least ? null : toLeastMemoryText(bytes, least);
    },
  },
  {
    setting: 'TOOLS_PERMISSIONS',
    reads: ['TOOLS_PERMISSIONS'],
    toProblem: ({ TOOLS_PERMISSIONS }) =>
      TOOLS_PERMISSIONS.includes('net') || process.allowedNodeEnvironmentFlags.has('--allow-net')
        ? null
        : `omits net, but Node.js ${process.version} cannot keep tools from using the network: add net, or run Node.js 25 or newer`,
  },
  {
    setting: 'SESSION_TTL_SECONDS',
    reads: ['SESSION_TTL_SECONDS', 'MAX_DEADLINE_MS'],
    toProblem: ({ SESSION_TTL_SECONDS, MAX_DEADLINE_MS }) =>
      SESSION_TTL_SECONDS * 1000 > MAX_DEADLINE_MS
        ? null
        : 'must be longer than MAX_DEADLINE_MS, or a session could expire before its batch ends',
  },
];

// A shell expands it; a file of variables, Docker and systemd do not.
const toTildeRules = ({ purposes }: ExtensionSet): readonly Rule[] =>
  [
    ...['WORKSPACE_DIR', 'CONFIG_FILE', 'TOOLS_DIR', 'API_KEYS_FILE'],
    // A program may be a name.
    ...purposes.flatMap(({ setting, path = 'program' }) => (path === 'program' ? [] : [setting])),
  ].map((setting) => ({
    setting,
    reads: [setting],
    toProblem: (config) =>
      String(Reflect.get(config, setting) ?? '').startsWith('~')
        ? 'begins with ~, which only a shell expands: write the absolute path'
        : null,
  }));

const findClashes = (config: Config, wrong: ReadonlySet<string>): readonly string[] =>
  [...RULES, ...toTildeRules(config.extensions)]
    .filter(({ reads }) => !reads.some((setting) => wrong.has(setting)))
    .flatMap(({ setting, toProblem }) => {
      const problem = toProblem(config);
      return problem === null ? [] : [`${setting} ${problem}`];
    });

// TOOL_GROUPS is a list of words, which its schema knows as a pattern.
const toListed = ({ groups }: ExtensionSet): Readonly<Record<string, readonly string[]>> => ({
  TOOL_GROUPS: [...groups.keys()],
  TOOLS_PERMISSIONS: ['fs-read', 'fs-write', 'net', 'child', 'worker', 'addons', 'wasi'],
});

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

/** Settings of earlier versions: what they bounded must not be left unbounded without a word. */
const findFormer = (environment: Readonly<Record<string, string | undefined>>): readonly string[] =>
  Object.entries(FORMER).flatMap(([name, text]) => (environment[name] ? [`${name} ${text}`] : []));

/** The values that a setting may have, where they are a closed list. */
const wordsOf = (setting: string, extensions: ExtensionSet): readonly string[] => {
  const schema: unknown = Reflect.get(SETTINGS, setting) ?? extensions.settings[setting];
  const json = schema instanceof z.ZodType ? z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) : null;
  const words = json?.enum?.filter((word) => typeof word === 'string') ?? [];
  return toListed(extensions)[setting] ?? words;
};

/**
 * Reads the settings from the environment; an empty value means unset. Gives every mistake at once, and then a config
 * in which the wrong settings stand at their defaults, so that the others can be looked into further.
 */
export const loadConfig = (
  environment: Readonly<Record<string, string | undefined>>,
  extensions: ExtensionSet = OWN_EXTENSIONS,
): { readonly config: Config } | { readonly config: Config; readonly mistakes: readonly string[] } => {
  const schema = toSchema(extensions);
  const given = Object.fromEntries(
    Object.keys(schema.shape).flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
  );
  const parsed = schema.safeParse(given);
  const issues = parsed.success ? [] : parsed.error.issues;
  const wrong = new Set(issues.map(({ path }) => path.join('.')));
  const right = Object.fromEntries(Object.entries(given).filter(([name]) => !wrong.has(name)));
  const config = { ...(parsed.success ? parsed.data : readRight(right, extensions)), extensions };
  const mistakes = [
    ...issues.map(({ path, message }) => {
      const setting = path.join('.');
      const value = environment[setting] ?? '';
      if (value === '')
        return `${setting} is not set, and an extension needs it: ${descriptionOf(extensions.settings[setting])}`;
      return `${setting} ${message}${toValueHint({ setting, value, words: wordsOf(setting, extensions) })}`;
    }),
    ...findFormer(environment),
    ...findClashes(config, wrong),
  ];
  return mistakes.length === 0 ? { config } : { config, mistakes };
};

/** What can be read where some settings are wrong. Those of extensions may be required, and are then left out. */
const readRight = (right: Readonly<Record<string, unknown>>, { settings }: ExtensionSet) => ({
  ...Settings.parse(Object.fromEntries(Object.entries(right).filter(([name]) => Object.hasOwn(SETTINGS, name)))),
  ...Object.fromEntries(Object.entries(settings).map(([name, schema]) => [name, schema.safeParse(right[name]).data])),
});

const descriptionOf = (schema: z.ZodType | undefined): string =>
  (schema === undefined ? undefined : z.globalRegistry.get(schema)?.description) ?? 'it has no description.';

/** The schema of all settings where there are these extensions. */
const toSchema = (extensions: ExtensionSet): typeof Settings =>
  extensions === OWN_EXTENSIONS
    ? Settings
    : z.object(
        Object.assign({ ...SETTINGS, TOOL_GROUPS: toGroupList([...extensions.groups.keys()]) }, extensions.settings),
      );
