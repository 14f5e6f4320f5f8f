import type { SlackRequestSeen } from './slack-stand-in.ts';

export type SlackChannel = {
  readonly id: string;
  readonly name: string;
  readonly topic: { readonly value: string; readonly creator: string; readonly last_set: number };
  readonly num_members: number;
  readonly is_member: boolean;
  readonly is_private: boolean;
  readonly is_archived: boolean;
};

export type SlackMessage = {
  readonly channel: string;
  readonly ts: string;
  readonly text: string;
  readonly thread_ts: string | undefined;
  readonly client_msg_id: string | undefined;
};

/** What the stand-in knows. Tests may change what is not readonly. */
export type SlackWorkspace = {
  readonly channels: SlackChannel[];
  readonly messages: SlackMessage[];
  /** The tokens that are accepted. */
  readonly tokens: Set<string>;
  readonly scopes: Set<string>;
};

export const SLACK_TOKEN = 'xoxb-1111111111-2222222222-standinstandinstandin';

export const createChannel = (at: number, parts: Partial<SlackChannel> = {}): SlackChannel => ({
  id: `C${String(at).padStart(10, '0')}`,
  name: `channel-${at}`,
  topic: { value: `Topic ${at}`, creator: 'U0000000001', last_set: 1_700_000_000 },
  num_members: at,
  is_member: true,
  is_private: false,
  is_archived: false,
  ...parts,
});

export const createWorkspace = (channels: readonly SlackChannel[]): SlackWorkspace => ({
  channels: [...channels],
  messages: [],
  tokens: new Set([SLACK_TOKEN]),
  scopes: new Set(['chat:write', 'channels:read']),
});

type Form = SlackRequestSeen['form'];

const refuse = (error: string, more: object = {}) => ({ ok: false, error, ...more });

const METHODS: Readonly<Record<string, { readonly scope: string; readonly answer: typeof postMessage }>> = {
  'chat.postMessage': { scope: 'chat:write', answer: (workspace, form) => postMessage(workspace, form) },
  'conversations.list': { scope: 'channels:read', answer: (workspace, form) => listConversations(workspace, form) },
};

/** The answer of one method, as it is sent. */
export const answerSlackMethod = (workspace: SlackWorkspace, request: SlackRequestSeen): object => {
  const method = METHODS[request.method];
  if (method === undefined || request.verb !== 'POST') return refuse('unknown_method', { req_method: request.method });
  if (request.contentType !== 'application/x-www-form-urlencoded') return refuse('invalid_post_type');
  const token = /^Bearer (.+)$/.exec(request.authorization ?? '')?.[1];
  if (token === undefined) return refuse('not_authed');
  if (!workspace.tokens.has(token)) return refuse('invalid_auth');
  if (!workspace.scopes.has(method.scope))
    return refuse('missing_scope', { needed: method.scope, provided: [...workspace.scopes].join(',') });
  return method.answer(workspace, request.form);
};

const findObstacle = (channel: SlackChannel | undefined, text: string): string | undefined => {
  if (channel === undefined) return 'channel_not_found';
  if (channel.is_archived) return 'is_archived';
  if (!channel.is_member) return 'not_in_channel';
  return text === '' ? 'no_text' : undefined;
};

function postMessage(workspace: SlackWorkspace, form: Form): object {
  const { channel: wanted = '', text = '', thread_ts, client_msg_id } = form;
  const name = wanted.replace(/^#/, '');
  const channel = workspace.channels.find((one) => one.id === wanted || one.name === name);
  const obstacle = findObstacle(channel, text);
  if (channel === undefined || obstacle !== undefined) return refuse(obstacle ?? 'channel_not_found');
  if (thread_ts !== undefined && !workspace.messages.some(({ ts }) => ts === thread_ts))
    return refuse('thread_not_found');
  // What Slack does with an id that it knows stands nowhere; seen is that nothing is posted and `ok` is true.
  const known = workspace.messages.find((one) => client_msg_id !== undefined && one.client_msg_id === client_msg_id);
  if (known !== undefined) return toPosted(known);
  const ts = `1700000000.${String(workspace.messages.length + 1).padStart(6, '0')}`;
  const message = { channel: channel.id, ts, text, thread_ts, client_msg_id };
  workspace.messages.push(message);
  return toPosted(message);
}

const toPosted = (message: SlackMessage): object => ({
  ok: true,
  channel: message.channel,
  ts: message.ts,
  message: { type: 'message', subtype: 'bot_message', bot_id: 'B0000000001', ...message },
  response_metadata: { warnings: ['missing_charset'] },
  warning: 'missing_charset',
});

function listConversations(workspace: SlackWorkspace, form: Form): object {
  const from = form['cursor'] === undefined ? 0 : toOffset(form['cursor']);
  if (from === null) return refuse('invalid_cursor');
  const limit = Number(form['limit'] ?? '100');
  const types = (form['types'] ?? 'public_channel').split(',');
  const listed = workspace.channels
    .filter(({ is_archived }) => form['exclude_archived'] !== 'true' || !is_archived)
    .filter(({ is_private }) => types.includes(is_private ? 'private_channel' : 'public_channel'));
  const end = from + limit;
  return {
    ok: true,
    channels: listed.slice(from, end),
    response_metadata: { next_cursor: end < listed.length ? toCursor(end) : '' },
  };
}

const toCursor = (offset: number): string => Buffer.from(`next:${offset}`).toString('base64');

const toOffset = (cursor: string): number | null => {
  const offset = /^next:(\d+)$/.exec(Buffer.from(cursor, 'base64').toString())?.[1];
  return offset === undefined ? null : Number(offset);
};
