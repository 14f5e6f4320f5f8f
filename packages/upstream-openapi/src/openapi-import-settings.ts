import { EFFECTS } from 'recourse-server/contract/failure';
import * as z from 'zod';

const Methods = z.enum(['get', 'head', 'options', 'put', 'post', 'patch', 'delete', 'trace']);

const Patterns = z.array(z.string().min(1));

/** Which operations: those whose operationId fits one of the patterns (`*` stands for any text), that carry one of the tags, or that use one of the methods. */
const Selection = z.union([
  Patterns,
  z.strictObject({
    operations: Patterns.optional(),
    tags: Patterns.optional(),
    methods: z.array(Methods).optional(),
  }),
]);
export type Selection = z.infer<typeof Selection>;

// What goes into a header line: no line ends, nothing beyond Latin-1 (RFC 9110, section 5.5).
const HeaderValue = z.string().regex(/^[\t\x20-\x7e\x80-\xff]+$/, 'must be text that fits into a header');
const HeaderName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'must be the name of a header');

const Auth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('bearer'), token: HeaderValue }),
  z.strictObject({
    type: z.literal('apiKey'),
    in: z.enum(['header', 'query', 'cookie']),
    name: HeaderName,
    value: HeaderValue,
  }),
  z.strictObject({ type: z.literal('basic'), username: z.string(), password: z.string() }),
  z.strictObject({ type: z.literal('headers'), headers: z.record(HeaderName, HeaderValue) }),
]);
export type OpenApiAuth = z.infer<typeof Auth>;

const isWebUrl = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '');

const WebUrl = z.string().refine(isWebUrl, 'must be an absolute http or https URL');

/** A parameter, or a member of a body, that no model is told of: `value` is always sent for it, or nothing (`hidden`). */
const ParameterRule = z
  .strictObject({
    name: z.string().min(1),
    /** Only where it is there. Default: wherever it is. */
    in: z.enum(['path', 'query', 'header', 'cookie', 'body']).optional(),
    /** Only of these operations (patterns with `*`). Default: all that have it. */
    operations: Patterns.optional(),
    value: z.json().optional(),
    hidden: z.literal(true).optional(),
  })
  .refine(({ value, hidden }) => (value === undefined) !== (hidden === undefined), 'must have either value or hidden');
export type ParameterRule = z.infer<typeof ParameterRule>;

/** One import of an OpenAPI document: where it is, which of its operations become tools, and how they are called. */
export const OpenApiImportSettings = z.strictObject({
  /** A file, relative to the configuration file, or an http(s) URL. JSON or YAML; OpenAPI 3.0, 3.1 or 3.2, or Swagger 2.0. */
  document: z.string().min(1),
  /** All requests stay below it. Default: the first server of the document. */
  baseUrl: WebUrl.optional(),
  /** Where else requests may go: operations that the document puts on one of these, or below it, are served from there. */
  servers: z.array(WebUrl).max(100).default([]),
  /** A tool is called `{prefix}_{operationId}`. Default: the name of the import; "" = no prefix. */
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{0,32}$/, 'must be at most 32 of A-Z a-z 0-9 _ . -')
    .optional(),
  /** Only these. Default: all. */
  include: Selection.optional(),
  /** Not these, even where `include` names them. */
  exclude: Selection.optional(),
  /** Added to each request; no model ever sees it. */
  auth: Auth.optional(),
  /** operationId, or a pattern with `*`, to what a repeat may do. The first that fits counts. */
  effects: z.record(z.string().min(1), z.enum(EFFECTS)).default({}),
  /** Writes of these operations (patterns with `*`) send the key of the call in a header `Idempotency-Key`, beside those that declare it. */
  idempotencyKeys: Patterns.default([]),
  /** `check`: a text that is not of the `format` that the document gives (date, uuid, email, …) is refused. */
  formats: z.enum(['advise', 'check']).default('advise'),
  /** Parameters that are the same for each call, or left out of all: no model is told of them. */
  parameters: z.array(ParameterRule).max(200).default([]),
  /** Files that are sent: `content`, which the model gives; `workspace`: also files of the workspace, by their paths. */
  uploads: z.enum(['content', 'workspace']).default('content'),
  /** Bytes of one file that is sent. */
  maxUploadBytes: z.int().min(1).max(104_857_600).default(10_485_760),
  /** Milliseconds of one call, retries of the transport included. */
  timeoutMs: z.int().min(100).max(600_000).default(30_000),
  /** How many calls of the import run at once in one process. */
  concurrency: z.int().min(1).max(1024).default(512),
  /** Bytes of one answer, decompressed. */
  maxResponseBytes: z.int().min(1).max(67_108_864).default(1_048_576),
  /** Bytes of the JSON of one operation's schema. What is larger is cut. */
  maxSchemaBytes: z.int().min(4_096).max(1_048_576).default(65_536),
  /** `allow`: the API, and the document, may be at an address that is not public. */
  privateAddresses: z.enum(['refuse', 'allow']).default('refuse'),
});
export type OpenApiImportSettings = z.output<typeof OpenApiImportSettings>;
