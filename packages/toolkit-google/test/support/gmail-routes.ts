import { hash } from 'node:crypto';
import {
  type StandInAnswer,
  type StandInRequest,
  type StandInRoute,
  toError,
} from '@recourse/test-support/google/google-stand-in.ts';

type Shape = Readonly<Record<string, unknown>>;

/** A message as Gmail keeps it; `raw` goes over its members as they are, to tell what no Gmail would. */
export type StoredMessage = {
  readonly id: string;
  readonly subject?: string;
  readonly from?: string;
  readonly to?: string;
  /** Milliseconds since the epoch. */
  readonly timeMs?: number;
  readonly labelIds?: readonly string[];
  readonly snippet?: string;
  readonly raw?: Shape;
};

export type Mailbox = {
  /** In any order. May be changed while the stand-in runs. */
  messages: readonly StoredMessage[];
  readonly labels?: readonly { readonly id: string; readonly name: string }[];
  /** Listed, and gone when they are asked for. */
  readonly vanished?: ReadonlySet<string>;
};

const USER = '/gmail/v1/users/me';

/** Gmail, as far as the mail tools ask it (users.messages.list, users.messages.get, users.labels.list). */
export const createGmailRoutes = (mailbox: Mailbox): readonly StandInRoute[] => [
  (request) => (request.path === `${USER}/messages` ? list(mailbox, request) : undefined),
  (request) => {
    const [, id] = new RegExp(`^${USER}/messages/([^/]+)$`).exec(request.path) ?? [];
    return id === undefined ? undefined : get(mailbox, id, request);
  },
  ({ path, query }) => {
    if (path !== `${USER}/labels`) return undefined;
    const labels = (mailbox.labels ?? []).map((label) => ({ ...label, type: 'user', messageListVisibility: 'show' }));
    return { body: pickFields({ labels }, query.get('fields')) };
  },
];

/** A mailbox of `count` messages in the inbox, the first the newest: `m1`, `m2`, … */
export const createMessages = (count: number): readonly StoredMessage[] =>
  Array.from({ length: count }, (_, place) => ({
    id: `m${place + 1}`,
    subject: `Subject ${place + 1}`,
    timeMs: Date.parse('2026-11-22T12:00:00Z') - place * 60_000,
  }));

const list = (mailbox: Mailbox, { query }: StandInRequest): StandInAnswer => {
  const wanted = query.getAll('labelIds');
  const known = new Set(['INBOX', 'UNREAD', 'SENT', 'TRASH', 'SPAM', ...(mailbox.labels ?? []).map(({ id }) => id)]);
  const unknown = wanted.find((label) => !known.has(label));
  if (unknown !== undefined) return toError(400, 'invalidArgument', `Invalid label: ${unknown}`);
  const matches = createSearch(query.get('q') ?? '');
  const found = mailbox.messages
    .filter((message) => wanted.every((label) => labelsOf(message).includes(label)) && matches(message))
    .filter((message) => query.get('includeSpamTrash') === 'true' || !isHidden(message))
    .toSorted((one, other) => (other.timeMs ?? 0) - (one.timeMs ?? 0));
  const page = cutPage(found, query);
  if (page === null) return toError(400, 'invalidArgument', 'Invalid pageToken');
  const messages = page.items.map(({ id }) => ({ id, threadId: `t-${id}` }));
  // Where nothing matches there is no member `messages` at all.
  const some = messages.length === 0 ? {} : { messages };
  const next = page.next === undefined ? {} : { nextPageToken: page.next };
  return { body: pickFields({ ...some, ...next, resultSizeEstimate: found.length }, query.get('fields')) };
};

const get = (mailbox: Mailbox, id: string, { query }: StandInRequest): StandInAnswer => {
  const message = mailbox.messages.find((one) => one.id === id);
  if (message === undefined || mailbox.vanished?.has(id) === true)
    return toError(404, 'notFound', 'Requested entity was not found.');
  if (query.get('format') !== 'metadata') return toError(400, 'invalidArgument', 'This stand-in tells metadata only.');
  const { subject = 'No matter', from = 'Anna <anna@example.com>', to = 'ben@example.com', timeMs = 0 } = message;
  const headers = [
    { name: 'Received', value: 'by 2002:a05:6a10:1 with SMTP id 1' },
    { name: 'From', value: from },
    { name: 'To', value: to },
    { name: 'Subject', value: subject },
    { name: 'Date', value: new Date(timeMs).toUTCString() },
  ];
  const told = new Set(query.getAll('metadataHeaders').map((name) => name.toLowerCase()));
  const whole = {
    id,
    threadId: `t-${id}`,
    labelIds: labelsOf(message),
    snippet: message.snippet ?? '',
    historyId: '987654',
    internalDate: String(timeMs),
    payload: { mimeType: 'text/plain', headers: headers.filter(({ name }) => told.has(name.toLowerCase())) },
    sizeEstimate: 4321,
  };
  // What a test says instead goes out as it is.
  return { body: { ...pickFields(whole, query.get('fields')), ...message.raw } };
};

const labelsOf = ({ labelIds = ['INBOX'] }: StoredMessage): readonly string[] => labelIds;
const isHidden = (message: StoredMessage): boolean =>
  labelsOf(message).some((label) => label === 'SPAM' || label === 'TRASH');

/** A small part of Gmail's search: `from:`, `after:` and `before:` with seconds, words of the subject; brackets bind. */
const createSearch = (q: string): ((message: StoredMessage) => boolean) => {
  const terms = q.toLowerCase().replace(/[()]/g, ' ').trim().split(/\s+/).filter(Boolean);
  return ({ subject = '', from = '', timeMs = 0 }) =>
    terms.every((term) => {
      const [, operator, operand = ''] = /^(from|after|before):(.*)$/.exec(term) ?? [];
      if (operator === 'from') return from.toLowerCase().includes(operand);
      if (operator === 'after') return timeMs >= Number(operand) * 1000;
      if (operator === 'before') return timeMs < Number(operand) * 1000;
      return subject.toLowerCase().includes(term);
    });
};

/** One page of a list, whose token holds for the very same query only; null where the token is none of this query. */
export const cutPage = <Item>(
  items: readonly Item[],
  query: URLSearchParams,
): { readonly items: readonly Item[]; readonly next?: string } | null => {
  const others = [...query].filter(([name]) => name !== 'pageToken').map(([name, value]) => `${name}=${value}`);
  const digest = hash('sha256', others.toSorted().join('&')).slice(0, 12);
  const [, from = '0', of = digest] = /^p(\d+)-(\w+)$/.exec(query.get('pageToken') ?? `p0-${digest}`) ?? [
    null,
    '0',
    '',
  ];
  if (of !== digest) return null;
  const end = Number(from) + Number(query.get('maxResults') ?? 100);
  const page = { items: items.slice(Number(from), end) };
  return end < items.length ? { ...page, next: `p${end}-${digest}` } : page;
};

/** What Google leaves of an answer for a `fields` parameter: `items(id,organizer(email),attendees/self),nextPageToken`. */
export const pickFields = (whole: Shape, fields: string | null): Shape =>
  fields === null ? whole : pick(whole, parseFields(fields));

type Fields = ReadonlyMap<string, string>;

/** The names of a selection, each with what is selected within it, '' for all. */
const parseFields = (fields: string): Fields => {
  const parts: string[] = [''];
  let depth = 0;
  for (const character of fields) {
    depth += character === '(' ? 1 : character === ')' ? -1 : 0;
    if (character === ',' && depth === 0) parts.push('');
    else parts.push(`${parts.pop()}${character}`);
  }
  return new Map(
    parts.map((part) => {
      const [, name = '', inner, path] = /^([^/(]+)(?:\((.*)\)|\/(.*))?$/.exec(part) ?? [];
      return [name, inner ?? path ?? ''];
    }),
  );
};

const pick = (whole: Shape, fields: Fields): Shape =>
  Object.fromEntries(
    Object.entries(whole)
      .filter(([name]) => fields.has(name))
      .map(([name, value]) => [name, pickWithin(value, fields.get(name) ?? '')]),
  );

const pickWithin = (value: unknown, fields: string): unknown => {
  if (fields === '' || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one: unknown) => pickWithin(one, fields));
  return pick({ ...value }, parseFields(fields));
};
