import { createHash } from 'node:crypto';
import type { Client } from '@modelcontextprotocol/client';
import * as z from 'zod';
import { hasMoreNodes } from '../../contract/json-weight.ts';
import { readParamHeaders } from '../../contract/param-headers.ts';
import { cutText } from '../describe-value.ts';
import { toCanonical } from './canonical-json.ts';

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
  inputSchema: z.unknown(),
  annotations: z.looseObject({ readOnlyHint: Hint, idempotentHint: Hint }).optional().catch(undefined),
  execution: z.looseObject({ taskSupport: z.string().optional() }).optional().catch(undefined),
});
const Named = z.looseObject({ name: z.string().min(1).max(256) });
const Page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().nullish() });

// A model can choose among some dozens. Each one is a schema that has to be compiled.
const MAX_TOOLS = 256;
const MAX_PAGES = 64;
const MAX_DESCRIPTION_LENGTH = 8_192;
const MAX_SCHEMA_LENGTH = 131_072;
// Values and lists within each other. A validator for two thousand properties takes seconds to make.
const MAX_SCHEMA_NODES = 2_000;
// Of all schemas and descriptions together, in characters.
const MAX_LIST_LENGTH = 4_194_304;

export type ToolList = {
  readonly tools: readonly ListedTool[];
  /** Entries that were not taken: without a name, or beyond the 256th. */
  readonly dropped: number;
};

/** All that a server lists, page after page. Rejects where it does not answer within `limitMs`. */
export const readToolList = async (client: Client, limitMs: number): Promise<ToolList> => {
  if (client.getServerCapabilities()?.tools === undefined) return { tools: [], dropped: 0 };
  const signal = AbortSignal.timeout(limitMs);
  const list = createListing();
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && !list.isFull(); page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: 'tools/list', params }, Page, { signal, timeout: limitMs });
    list.add(answer.tools);
    // Servers end a list by null or an empty text too.
    const next = answer.nextCursor ?? '';
    if (next === '' || next === cursor) break;
    cursor = next;
  }
  return list.end();
};

/** Takes page after page, so that no more than one is kept as it came. */
const createListing = () => {
  const tools: ListedTool[] = [];
  let listed = 0;
  let length = 0;
  const isFull = (): boolean => listed > MAX_TOOLS || length > MAX_LIST_LENGTH;
  return {
    isFull,
    add: (page: readonly unknown[]): void => {
      for (const tool of lazily(page.slice(0, MAX_TOOLS - tools.length))) {
        length += lengthOf(tool);
        if (length > MAX_LIST_LENGTH) break;
        tools.push(tool);
      }
      listed += page.length;
    },
    end: (): ToolList => ({ tools, dropped: listed - tools.length }),
  };
};

/** One tool after the other: of a list that is too long no more than that is looked at. */
function* lazily(page: readonly unknown[]): Generator<ListedTool> {
  for (const given of page) yield* toListed(given);
}

// What is not taken was looked at, too.
const lengthOf = ({ fault, description, inputSchema }: ListedTool): number =>
  description.length + (fault === TOO_LARGE ? MAX_SCHEMA_LENGTH : JSON.stringify(inputSchema).length);

const toListed = (given: unknown): readonly ListedTool[] => {
  const entry = Entry.safeParse(given);
  if (entry.success) return [toTool(entry.data)];
  const named = Named.safeParse(given);
  return named.success ? [toFaulty(named.data.name, 'its entry in the list of the server is malformed')] : [];
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
  if (hasMoreNodes(inputSchema, MAX_SCHEMA_NODES)) return toFaulty(name, TOO_LARGE);
  const canonical = toCanonical(inputSchema);
  const schema = Schema.safeParse(inputSchema);
  if (canonical === null || canonical.length > MAX_SCHEMA_LENGTH) return toFaulty(name, TOO_LARGE);
  if (!schema.success) return toFaulty(name, 'its input schema is not of an object');
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

const ONLY_AS_TASK = 'it can only be run as an MCP task, which is not supported';

const Schema = z.looseObject({ type: z.literal('object').default('object') });

const DIGEST_LENGTH = 32;
const toDigest = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, DIGEST_LENGTH);
