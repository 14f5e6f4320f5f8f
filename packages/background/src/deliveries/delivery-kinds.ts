import { textBytes } from 'recourse-server/memory/bounded-store';
import type { Kind } from 'recourse-server/store/record-store';
import { NO_LIST, toChanges } from 'recourse-server/store/text-kind';
import type { Delivery } from '../webhooks/delivery-store.ts';

// Longer than a message is tried.
export const TTL_MS = 25 * 3_600_000;

/** All of a message but its body; how many attempts have begun, and when it is due or the lease of its attempt ends. */
export type MessageHead = Omit<Delivery, 'body'> & { readonly attempt: number; readonly dueAt: number };

/** A message; null: there is none. The head of one whose id comes but once stays when the body is gone. */
export type StoredMessage = { head: MessageHead | null; body: string | null };

// None of them holds a space.
const HEAD = /^(\d{1,16}) (\S*) (\S*) (\S*) (\d{1,9}) (\d{1,16}) (once)?$/;

const encodeHead = ({ since, id, endpoint, tenant, attempt, dueAt, repeats }: MessageHead): string =>
  `${since} ${id} ${endpoint} ${tenant} ${attempt} ${Math.ceil(dueAt)} ${repeats === undefined ? '' : 'once'}`;

/** null: there is none, or it is damaged. */
const readHead = (text: string): MessageHead | null => {
  const [found, since, id = '', endpoint = '', tenant = '', attempt, dueAt, once] = HEAD.exec(text) ?? [];
  if (found === undefined) return null;
  const repeats = once === undefined ? {} : ({ repeats: 'never' } as const);
  return { id, endpoint, tenant, since: Number(since), attempt: Number(attempt), dueAt: Number(dueAt), ...repeats };
};

const encodeMessage = ({ head, body }: StoredMessage): Map<string, string> => {
  const texts = new Map<string, string>();
  if (head !== null) texts.set('h', encodeHead(head));
  if (body !== null) texts.set('b', body);
  return texts;
};

// The record, its head, and its entry among those that wait.
const MESSAGE_BYTES = 400;

/** `onForgotten`: memory has had no room for a message, or its time was over. */
export const createMessageKind = (
  onForgotten: (message: StoredMessage) => void,
): Kind<StoredMessage, Map<string, string>> => ({
  ...NO_LIST,
  name: 'message',
  operations: { short: 'webhook', long: 'webhook' },
  memory: { records: 'webhooks', lists: null },
  // Few are tried again.
  knownPart: 0.18,
  ttlMs: TTL_MS,
  create: () => ({ head: null, body: null }),
  decode: (fields) => ({ head: readHead(fields.get('h') ?? ''), body: fields.get('b') ?? null }),
  toSaved: encodeMessage,
  changes: (message, saved) => toChanges(encodeMessage(message), saved),
  isEmpty: ({ head }) => head === null,
  bytes: ({ body }) => MESSAGE_BYTES + textBytes(body ?? ''),
  onForgotten,
});

/** An endpoint: the version of it that wants no more messages. */
export const endpointKind: Kind<{ disabled: string | null }, Map<string, string>> = {
  ...NO_LIST,
  name: 'endpoint',
  operations: { short: 'webhook', long: 'webhook' },
  memory: { records: null, lists: null },
  ttlMs: TTL_MS,
  create: () => ({ disabled: null }),
  decode: (fields) => ({ disabled: fields.get('d') ?? null }),
  toSaved: ({ disabled }) => new Map(disabled === null ? [] : [['d', disabled]]),
  changes: ({ disabled }, saved) => toChanges(new Map(disabled === null ? [] : [['d', disabled]]), saved),
  isEmpty: ({ disabled }) => disabled === null,
  bytes: () => 200,
};
