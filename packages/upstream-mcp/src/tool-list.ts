import { createHash } from 'node:crypto';
import { type Client, ProtocolError } from '@modelcontextprotocol/client';
import { readParamHeaders } from '@recourse/mcp-server/param-headers';
import { hasMoreNodes, isRecord } from 'recourse-server/contract/json-record';
import { cutText } from 'recourse-server/tools/describe-value';
import { isNestedDeeper } from 'recourse-server/tools/schema-check';
import * as z from 'zod';

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
const Named = z.looseObject({ name: z.string().min(1).max(256) });
const Entry = Named.extend({
  title: z.string().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  inputSchema: z.unknown().optional(),
  annotations: z.looseObject({ readOnlyHint: Hint, idempotentHint: Hint }).optional().catch(undefined),
  execution: z.looseObject({ taskSupport: z.string().optional() }).optional().catch(undefined),
});
// Several types, or null for one that is left out, may be those of an object.
const Schema = z.looseObject({
  type: z.preprocess(
    (type) => (type === undefined || [type].flat().some((one) => one === 'object' || one === null) ? 'object' : type),
    z.literal('object'),
  ),
});
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

/**
 * All that a server lists, page after page, each name once as it was first listed. `dropped`: entries without a name, or
 * beyond the 256th. Rejects where the server does not answer within `limitMs`.
 */
export const readToolList = async (client: Client, limitMs: number) => {
  const tools: ListedTool[] = [];
  const names = new Set<unknown>();
  const cursors = new Set<string | undefined>();
  const options = { signal: AbortSignal.timeout(limitMs), timeout: limitMs };
  let [listed, length] = [0, 0];
  let cursor: string | undefined;
  const isFull = (): boolean => listed > MAX_TOOLS || length > MAX_LIST_LENGTH;
  // Of a list that is too long no more than that is looked at.
  const take = (entry: unknown): void => {
    const tool = isFull() || tools.length === MAX_TOOLS ? null : readTool(entry);
    if (tool === null) return;
    length += tool.description.length + (tool.fault === TOO_LARGE ? MAX_SCHEMA_LENGTH : lengthOf(tool.inputSchema));
    if (length <= MAX_LIST_LENGTH) tools.push(tool);
  };
  let isOver = client.getServerCapabilities()?.tools === undefined;
  while (!isOver && cursors.size < MAX_PAGES && !cursors.has(cursor) && !isFull()) {
    cursors.add(cursor);
    const page = await readPage(client, cursor, options);
    const fresh = page.tools.filter((entry) => isFirst(entry, names));
    for (const entry of fresh) take(entry);
    listed += fresh.length;
    // An empty page may precede others.
    isOver = isEnd(page.nextCursor, client) || (fresh.length === 0 && page.tools.length > 0);
    cursor = page.nextCursor ?? undefined;
  }
  return { tools, dropped: listed - tools.length };
};

const lengthOf = (value: unknown): number => JSON.stringify(value).length;

/** A page without tools where the server refuses its own empty cursor, by which it meant the end. */
const readPage = (
  client: Client,
  cursor: string | undefined,
  options: { readonly signal: AbortSignal; readonly timeout: number },
): Promise<z.infer<typeof Page>> =>
  client
    .request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, Page, options)
    .catch((error: unknown) => {
      if (cursor === '' && error instanceof ProtocolError) return { tools: [], nextCursor: null };
      throw error;
    });

/** MCP 2026-07-28 makes an empty text a cursor like any other; servers of earlier revisions end a list by it. */
const isEnd = (next: string | null | undefined, client: Client): boolean =>
  next === undefined || next === null || (next === '' && client.getProtocolEra() !== 'modern');

const isFirst = (entry: unknown, names: Set<unknown>): boolean => {
  const name = isRecord(entry) ? entry['name'] : undefined;
  if (typeof name !== 'string') return true;
  const isNew = !names.has(name);
  names.add(name);
  return isNew;
};

/** For `JSON.stringify`: the same text for the same value, in whatever order its members come. */
const sortMembers = (_key: string, value: unknown): unknown =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) : value;

const DIGEST_LENGTH = 32;
const digestOf = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, DIGEST_LENGTH);

const TOO_LARGE = 'its input schema is too large or too deep';

/** null: an entry without a usable name. */
const readTool = (value: unknown): ListedTool | null => {
  const named = Named.safeParse(value);
  if (!named.success) return null;
  const unusable = (fault: string): ListedTool => ({
    name: named.data.name,
    description: '',
    inputSchema: { type: 'object' },
    hints: { readOnly: false, idempotent: false },
    digest: '',
    fault,
  });
  const entry = Entry.safeParse(value);
  if (!entry.success) return unusable('its entry in the tool list of the server is malformed');
  const { name, title, description, inputSchema, annotations, execution } = entry.data;
  if (hasMoreNodes(inputSchema, MAX_SCHEMA_NODES) || isNestedDeeper(inputSchema, MAX_SCHEMA_DEPTH))
    return unusable(TOO_LARGE);
  const canonical = JSON.stringify(inputSchema ?? null, sortMembers);
  if (canonical.length > MAX_SCHEMA_LENGTH) return unusable(TOO_LARGE);
  const schema = Schema.safeParse(inputSchema ?? {});
  if (!schema.success) return unusable('its input schema does not describe an object');
  const hints = { readOnly: annotations?.readOnlyHint === true, idempotent: annotations?.idempotentHint === true };
  const text = description ?? title ?? '';
  const isTask = execution?.taskSupport === 'required';
  return {
    name,
    description: cutText(text, MAX_DESCRIPTION_LENGTH),
    inputSchema: schema.data,
    hints,
    digest: digestOf([text, canonical, hints.readOnly, hints.idempotent]),
    fault: isTask ? 'it only runs as an MCP task, which is not supported' : readParamHeaders(schema.data).fault,
  };
};
