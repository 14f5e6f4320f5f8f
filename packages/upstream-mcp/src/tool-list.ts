import { createHash } from 'node:crypto';
import { setTimeout as afterMs } from 'node:timers/promises';
import { type Client, ProtocolError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { readParamHeaders } from '@recourse/mcp-server/param-headers';
import { codeOf } from '@recourse/toolkit-kit/egress/error-code';
import { showText } from '@recourse/toolkit-kit/egress/show-url';
import { hasMoreNodes, isRecord } from 'recourse-server/contract/json-record';
import { cutText } from 'recourse-server/tools/describe-value';
import { isNestedDeeper } from 'recourse-server/tools/schema-check';
import type { ToolLog } from 'recourse-server/tools/tool';
import * as z from 'zod';
import { networkCodeOf, readHttpTrouble } from './call-failure.ts';
import type { createFadingLog } from './limited-log.ts';
import { readStandIn } from './message-limits.ts';

/** A tool as its server lists it, checked. */
export type ListedTool = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly hints: { readonly readOnly: boolean; readonly idempotent: boolean };
  /** Of all that a model, or the choice of `effects`, goes by: 32 hexadecimal digits. */
  readonly digest: string;
  /** Why it cannot be offered, whatever it is called; null where nothing is against it. */
  readonly fault: string | null;
};

const Hint = z.boolean().optional().catch(undefined);
const Entry = z.looseObject({
  name: z.string().min(1).max(256),
  title: z.string().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  inputSchema: z.unknown().optional(),
  annotations: z.looseObject({ readOnlyHint: Hint, idempotentHint: Hint }).optional().catch(undefined),
  execution: z.looseObject({ taskSupport: z.string().optional() }).optional().catch(undefined),
});
const Named = z.looseObject({ name: z.string().min(1).max(256) });
// What the server said, beside what the SDK takes for it. Servers write an empty list as null, too.
const Page = z
  .object({ answer: z.object({ tools: z.array(z.unknown()).nullable(), nextCursor: z.string().nullish() }) })
  .transform(({ answer: { tools, nextCursor } }) => ({ tools: tools ?? [], nextCursor }));

// A model can choose among some dozens. Each one is a schema that has to be compiled.
const MAX_TOOLS = 256;
const MAX_PAGES = 64;
const MAX_DESCRIPTION_LENGTH = 8_192;
const MAX_SCHEMA_LENGTH = 131_072;
// Values and lists within each other. A validator for two thousand properties takes seconds to make.
const MAX_SCHEMA_NODES = 2_000;
const MAX_SCHEMA_DEPTH = 64;
// Of all schemas and descriptions together, in characters.
const MAX_LIST_LENGTH = 4_194_304;

type ToolList = {
  readonly tools: readonly ListedTool[];
  /** Entries that were not taken: without a name, or beyond the 256th. */
  readonly dropped: number;
};

/** All that a server lists, page after page; no more than one is kept as it came. Rejects where it does not answer within `limitMs`. */
const readToolList = async (client: Client, limitMs: number): Promise<ToolList> => {
  if (client.getServerCapabilities()?.tools === undefined) return { tools: [], dropped: 0 };
  const signal = AbortSignal.timeout(limitMs);
  const listing: Listing = { tools: [], names: new Set(), listed: 0, length: 0 };
  const cursors = new Set<string | undefined>();
  let cursor: string | undefined;
  while (cursors.size < MAX_PAGES && !cursors.has(cursor) && !isFull(listing)) {
    cursors.add(cursor);
    const page = await readPage(client, cursor, { signal, timeout: limitMs });
    const isNews = page !== null && addPage(listing, page.tools);
    if (!isNews || isEnd(page.nextCursor, client)) break;
    cursor = page.nextCursor ?? undefined;
  }
  return { tools: listing.tools, dropped: listing.listed - listing.tools.length };
};

type PageOptions = { readonly signal: AbortSignal; readonly timeout: number };

/** null: the server refuses its own empty cursor, by which it meant the end. */
const readPage = (client: Client, cursor: string | undefined, options: PageOptions) =>
  client
    .request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, Page, options)
    .catch((error: unknown) => {
      if (cursor === '' && error instanceof ProtocolError) return null;
      throw error;
    });

/** MCP 2026-07-28 makes an empty text a cursor like any other; servers of earlier revisions end a list by it. */
const isEnd = (next: string | null | undefined, client: Client): boolean =>
  next === undefined || next === null || (next === '' && client.getProtocolEra() !== 'modern');

/** `names`: of all entries so far. `length`: of what was looked at, in characters. */
type Listing = { readonly tools: ListedTool[]; readonly names: Set<string>; listed: number; length: number };

const isFull = ({ listed, length }: Listing): boolean => listed > MAX_TOOLS || length > MAX_LIST_LENGTH;

/**
 * Takes one tool after the other: of a list that is too long no more than that is looked at. Of several entries under one
 * name the first counts. Whether the page has anything new; an empty one may precede others.
 */
const addPage = (listing: Listing, page: readonly unknown[]): boolean => {
  const fresh = page.filter((entry) => isFresh(entry, listing.names));
  listing.listed += fresh.length;
  for (const entry of fresh.slice(0, MAX_TOOLS - listing.tools.length)) {
    const tool = toListed(entry);
    if (tool === null) continue;
    listing.length += lengthOf(tool);
    if (listing.length > MAX_LIST_LENGTH) break;
    listing.tools.push(tool);
  }
  return fresh.length > 0 || page.length === 0;
};

const isFresh = (entry: unknown, names: Set<string>): boolean => {
  const name = isRecord(entry) ? entry['name'] : undefined;
  if (typeof name !== 'string') return true;
  const isNew = !names.has(name);
  names.add(name);
  return isNew;
};

// What is not taken was looked at, too.
const lengthOf = ({ fault, description, inputSchema }: ListedTool): number =>
  description.length + (fault === TOO_LARGE ? MAX_SCHEMA_LENGTH : JSON.stringify(inputSchema).length);

const toListed = (value: unknown): ListedTool | null => {
  const entry = Entry.safeParse(value);
  if (entry.success) return toTool(entry.data);
  const named = Named.safeParse(value);
  return named.success ? toFaulty(named.data.name, 'its entry in the tool list of the server is malformed') : null;
};

const TOO_LARGE = 'its input schema is too large or too deep';

const toFaulty = (name: string, fault: string): ListedTool => ({
  name,
  description: '',
  inputSchema: { type: 'object' },
  hints: { readOnly: false, idempotent: false },
  digest: '',
  fault,
});

const toTool = ({
  name,
  title,
  description,
  inputSchema,
  annotations,
  execution,
}: z.infer<typeof Entry>): ListedTool => {
  if (hasMoreNodes(inputSchema, MAX_SCHEMA_NODES) || isNestedDeeper(inputSchema, MAX_SCHEMA_DEPTH))
    return toFaulty(name, TOO_LARGE);
  const canonical = toCanonical(inputSchema);
  const schema = Schema.safeParse(inputSchema ?? {});
  if (canonical.length > MAX_SCHEMA_LENGTH) return toFaulty(name, TOO_LARGE);
  if (!schema.success) return toFaulty(name, 'its input schema does not describe an object');
  const hints = { readOnly: annotations?.readOnlyHint === true, idempotent: annotations?.idempotentHint === true };
  const text = description ?? title ?? '';
  return {
    name,
    description: cutText(text, MAX_DESCRIPTION_LENGTH),
    inputSchema: schema.data,
    hints,
    digest: toDigest([text, canonical, hints.readOnly, hints.idempotent]),
    fault: execution?.taskSupport === 'required' ? ONLY_AS_TASK : readParamHeaders(schema.data).fault,
  };
};

const ONLY_AS_TASK = 'it only runs as an MCP task, which is not supported';

// Several types, or null for one that is left out, may be those of an object.
const Schema = z.looseObject({
  type: z.preprocess(
    (type) => (type === undefined || [type].flat().some((one) => one === 'object' || one === null) ? 'object' : type),
    z.literal('object'),
  ),
});

const DIGEST_LENGTH = 32;
const toDigest = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, DIGEST_LENGTH);

/** The same text for the same JSON value, in whatever order its members come. */
const toCanonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(toCanonical).join(',')}]`;
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${toCanonical(member)}`).join(',')}}`;
};

type ListReaderOptions = {
  readonly log: ToolLog;
  readonly failures: ReturnType<typeof createFadingLog>;
  readonly limitMs: number;
  /** Between two readings, however often they are asked for. */
  readonly gapMs: number;
  /** Whom to ask now; null = nobody is there. */
  readonly client: () => Client | null;
  /** A tool whose name holds a secret is not taken: names are shown as they are, in metrics too. */
  readonly holdsSecret: (text: string) => boolean;
  readonly onList: (tools: readonly ListedTool[]) => Promise<void>;
};

/** How a reading of the list ended. `failed` has one clause for people; `not_asked`: there was no connection to ask over. */
type ListReading = { readonly kind: 'read' | 'not_asked' } | { readonly kind: 'failed'; readonly cause: string };

type ListReader = {
  /** Once at a time, with pauses; whoever asks meanwhile gets the next reading. Never rejects. */
  readonly read: () => Promise<ListReading>;
  /** The reading that runs or has just ended; the next one otherwise. A further one follows in any case. Never rejects. */
  readonly latest: () => Promise<ListReading>;
};

/** Reads the list of a server. */
export const createListReader = (options: ListReaderOptions): ListReader => {
  let last: Promise<unknown> = Promise.resolve();
  let recent: Promise<ListReading> | null = null;
  let next: Promise<ListReading> | null = null;
  const read = (): Promise<ListReading> => {
    next ??= last.then(() => {
      next = null;
      const reading = readOnce(options);
      recent = reading;
      last = reading
        .then(() => afterMs(options.gapMs, undefined, { ref: false }))
        .then(() => {
          recent = null;
        });
      return reading;
    });
    return next;
  };
  const latest = (): Promise<ListReading> => {
    const following = read();
    return recent ?? following;
  };
  return { read, latest };
};

const readOnce = async (options: ListReaderOptions): Promise<ListReading> => {
  const { client, limitMs, holdsSecret, onList, log, failures } = options;
  const current = client();
  if (current === null) return NOT_ASKED;
  const list = await readToolList(current, limitMs).catch(toCause);
  // Meanwhile it may be another connection that serves, with a list of its own.
  if (client() !== current) return NOT_ASKED;
  if (typeof list === 'string') {
    failures.failed(list);
    return { kind: 'failed', cause: list };
  }
  failures.worked();
  if (list.dropped > 0)
    log.warn('invalid entries in the tool list of an MCP server dropped', { entries: list.dropped });
  const shown = list.tools.filter(({ name }) => !holdsSecret(name));
  const secret = list.tools.length - shown.length;
  if (secret > 0) log.warn('tools of an MCP server left out: their names contain a secret', { tools: secret });
  await onList(shown);
  return { kind: 'read' };
};

const NOT_ASKED: ListReading = { kind: 'not_asked' };

/** Why a list could not be read, one clause for people. */
const toCause = (error: unknown): string => {
  if (error instanceof ProtocolError) return toRefusal(error);
  const trouble = readHttpTrouble(error);
  if (trouble !== null) return trouble.kind === 'status' ? `HTTP ${trouble.status}` : LIST_TOO_LARGE;
  if (error instanceof SdkHttpError) return `HTTP ${error.status}`;
  return CAUSES.get(codeOf(error)) ?? showText(networkCodeOf(error));
};

const toRefusal = ({ code, message, data }: ProtocolError): string => {
  const standIn = readStandIn(data);
  if (standIn === 'too_large') return LIST_TOO_LARGE;
  return standIn === 'unreadable' ? NO_LIST : `error ${code}: ${showText(message)}`;
};

const LIST_TOO_LARGE = 'the list is too large';
const NO_LIST = 'its answer is not a list of tools';
const NO_ANSWER = 'no answer in time';

const CAUSES: ReadonlyMap<string, string> = new Map([
  [SdkErrorCode.RequestTimeout, NO_ANSWER],
  ['TimeoutError', NO_ANSWER],
  [SdkErrorCode.InvalidResult, NO_LIST],
  [SdkErrorCode.ConnectionClosed, 'the connection has ended'],
]);
