import { textBytes } from 'recourse-server/memory/bounded-store';
import { NO_LIST, toChanges } from 'recourse-server/sessions/record-fields';
import type { Fields, Kind } from 'recourse-server/store/record-store';
import type { Delivery } from '../webhooks/delivery-store.ts';

// Longer than a message is tried. Records of an endpoint that no configuration names any more end by themselves.
export const TTL_MS = 25 * 3_600_000;

/** All of a message but its body, and in which queue it is. */
type Head = Omit<Delivery, 'body'> & { readonly queue: string };

/** A message; null: there is none. The head of one whose id comes but once stays when the body is gone. */
export type StoredMessage = { head: Head | null; body: string | null };

// None of them holds a space.
const HEAD = /^(\d{1,16}) (\S*) (\S*) (\S*) (\S*) (once)?$/;

const toHead = ({ since, id, endpoint, tenant, queue, repeats }: Head): string =>
  `${since} ${id} ${endpoint} ${tenant} ${queue} ${repeats === undefined ? '' : 'once'}`;

/** null: there is none, or it is damaged. */
const readHead = (text: string): Head | null => {
  const [found, since, id = '', endpoint = '', tenant = '', queue = '', once] = HEAD.exec(text) ?? [];
  if (found === undefined) return null;
  const repeats = once === undefined ? {} : ({ repeats: 'never' } as const);
  return { id, endpoint, tenant, queue, since: Number(since), ...repeats };
};

const toMessageTexts = ({ head, body }: StoredMessage): Map<string, string> => {
  const texts = new Map<string, string>();
  if (head !== null) texts.set('h', toHead(head));
  if (body !== null) texts.set('b', body);
  return texts;
};

// The record, its head, and its place in a queue.
const MESSAGE_BYTES = 400;

/** `onForgotten`: memory has had no room for a message, or its time was over. */
export const createMessageKind = (
  onForgotten: (message: StoredMessage) => void,
): Kind<StoredMessage, Map<string, string>> => ({
  name: 'message',
  operations: { short: 'webhook', long: 'webhook' },
  memory: { records: 'webhooks', lists: null },
  ttlMs: TTL_MS,
  create: () => ({ head: null, body: null }),
  decode: (fields) => ({ head: readHead(fields.get('h') ?? ''), body: fields.get('b') ?? null }),
  toSaved: toMessageTexts,
  changes: (message, saved) => toChanges(toMessageTexts(message), saved),
  ...NO_LIST,
  isEmpty: ({ head }) => head === null,
  bytes: ({ body }) => MESSAGE_BYTES + textBytes(body ?? ''),
  onForgotten,
});

/** One message in the queue of its endpoint. `dueAt`: when it is due, or its lease ends. */
export type Waiting = { readonly dueAt: number; readonly attempt: number; readonly tenant: string };

/** The messages of an endpoint that one process has kept, by their ids. */
export type Queue = {
  readonly waiting: Map<string, Waiting>;
  /** How many there are of each tenant. */
  readonly ofTenant: Map<string, number>;
  /** Ids whose place differs from what is saved: to compare all would cost too much where tens of thousands wait. */
  readonly changed: Set<string>;
};

/** Puts a message into its queue or, with null, takes it out. */
export const setWaiting = ({ waiting, ofTenant, changed }: Queue, id: string, next: Waiting | null): void => {
  const before = waiting.get(id);
  if (before !== undefined) ofTenant.set(before.tenant, (ofTenant.get(before.tenant) ?? 1) - 1);
  if (next === null) waiting.delete(id);
  else {
    waiting.set(id, next);
    ofTenant.set(next.tenant, (ofTenant.get(next.tenant) ?? 0) + 1);
  }
  changed.add(id);
};

const FIELD = 'm:';
// No tenant holds a space.
const WAITING = /^(\d{1,16}) (\d{1,9}) (\S*)$/;

const decodeQueue = (fields: Fields): Queue => {
  const queue: Queue = { waiting: new Map(), ofTenant: new Map(), changed: new Set() };
  for (const [name, text] of fields) {
    const [, dueAt, attempt, tenant = ''] = (name.startsWith(FIELD) ? WAITING.exec(text) : null) ?? [];
    if (dueAt !== undefined)
      setWaiting(queue, name.slice(FIELD.length), { dueAt: Number(dueAt), attempt: Number(attempt), tenant });
  }
  queue.changed.clear();
  return queue;
};

// An id of 40 characters, its place in the map, and the object.
const WAITING_BYTES = 200;

/** A field a message. It is one process's, so that its state is known there and is hardly ever read. */
export const queueKind: Kind<Queue, null> = {
  name: 'queue',
  operations: { short: 'webhook', long: 'webhook' },
  // Bounded by how many may wait.
  memory: { records: null, lists: null },
  // One that is not known is read as a whole with each step.
  knownPart: 0.18,
  ttlMs: TTL_MS,
  create: () => decodeQueue(new Map()),
  decode: decodeQueue,
  toSaved: () => null,
  changes: ({ waiting, changed }) => {
    const set: string[] = [];
    const gone: string[] = [];
    for (const id of changed) {
      const now = waiting.get(id);
      if (now === undefined) gone.push(FIELD + id);
      else set.push(FIELD + id, `${Math.ceil(now.dueAt)} ${now.attempt} ${now.tenant}`);
    }
    return { set, gone };
  },
  ...NO_LIST,
  // Every backend asks this after each update, and after `changes`: what was changed is saved, or needs no saving.
  takeAdded: ({ changed }) => {
    changed.clear();
    return [];
  },
  isEmpty: ({ waiting }) => waiting.size === 0,
  bytes: ({ waiting }) => WAITING_BYTES * (1 + waiting.size),
};

/** An endpoint: its queues and until when the process of each is known to live, and the version of it that wants no more messages. */
export type Endpoint = { readonly queues: Map<string, number>; disabled: string | null };

const QUEUE = 'q:';
const TIME = /^\d{1,16}$/;

const toEndpointTexts = ({ queues, disabled }: Endpoint): Map<string, string> => {
  const texts = new Map<string, string>();
  for (const [name, livesUntil] of queues) texts.set(QUEUE + name, String(Math.ceil(livesUntil)));
  if (disabled !== null) texts.set('d', disabled);
  return texts;
};

export const endpointKind: Kind<Endpoint, Map<string, string>> = {
  name: 'endpoint',
  operations: { short: 'webhook', long: 'webhook' },
  memory: { records: null, lists: null },
  ttlMs: TTL_MS,
  create: () => ({ queues: new Map(), disabled: null }),
  decode: (fields) => {
    const queues = new Map<string, number>();
    // Of one that is damaged nobody is known to have it.
    for (const [name, text] of fields)
      if (name.startsWith(QUEUE)) queues.set(name.slice(QUEUE.length), TIME.test(text) ? Number(text) : 0);
    return { queues, disabled: fields.get('d') ?? null };
  },
  toSaved: toEndpointTexts,
  changes: (endpoint, saved) => toChanges(toEndpointTexts(endpoint), saved),
  ...NO_LIST,
  isEmpty: ({ queues, disabled }) => queues.size === 0 && disabled === null,
  bytes: ({ queues }) => 200 * (1 + queues.size),
};
