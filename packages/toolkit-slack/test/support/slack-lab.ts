import { createMemoryPageTokens } from '@recourse/test-support/memory-page-tokens.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import type { RetryClock } from '@recourse/toolkit-kit/egress/transport-retries';
import type { InlineTool, ToolContext } from 'recourse-server/internal/tools/tool.ts';
import { isToldValue } from 'recourse-server/internal/tools/tool-values.ts';
import { onTestFinished } from 'vitest';
import { createListSlackChannels } from '#src/list-slack-channels.ts';
import { createPostSlackMessage } from '#src/post-slack-message.ts';
import { createSlackAccess } from '#src/slack-access.ts';
import { type SlackStandIn, startSlackStandIn } from './slack-stand-in.ts';
import { createChannel, createWorkspace, SLACK_TOKEN, type SlackChannel } from './slack-workspace.ts';

type Input = Readonly<Record<string, unknown>>;
type Context = Partial<Pick<ToolContext, 'session' | 'idempotencyKey' | 'signal' | 'timeoutMs'>>;

/** Both tools before a stand-in, and what they wrote into the log. */
export type SlackLab = {
  readonly slack: SlackStandIn;
  /** The value that the tool gives; rejects with what it throws. */
  readonly post: (input?: Input, context?: Context) => Promise<unknown>;
  readonly list: (input?: Input, context?: Context) => Promise<unknown>;
  readonly logged: readonly string[];
};

export type SlackLabOptions = {
  readonly channels?: readonly SlackChannel[];
  readonly token?: string | undefined;
  readonly limitMs?: number;
  readonly clock?: RetryClock;
  /** Instead of the stand-in's. */
  readonly apiUrl?: string;
};

const run = async (tool: InlineTool, input: Input, context: ToolContext): Promise<unknown> => {
  const prepared = await tool.prepare(input);
  if (!prepared.ok) throw new TypeError(prepared.issues.map(({ path, message }) => `${path}: ${message}`).join('\n'));
  const given = await prepared.invocation.run(context);
  const value = typeof given === 'object' && given !== null && isToldValue(given) ? given.value : given;
  const issues = (await tool.checkOutput?.(value)) ?? [];
  if (issues.length > 0) throw new TypeError(`The value is not what was declared: ${JSON.stringify(issues)}`);
  return value;
};

const createContext = (tool: InlineTool, parts: Context, logged: string[]): ToolContext => {
  const tell = (message: string, fields: object = {}): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
  return {
    signal: new AbortController().signal,
    session: 'acme:session',
    callId: null,
    log: { debug: tell, info: tell, warn: tell, error: tell },
    progress: () => undefined,
    part: () => undefined,
    effects: tool.effects,
    retriesLeft: 1,
    timeoutMs: 30_000,
    isLastAttempt: false,
    idempotencyKey: null,
    effectId: 'e_0123456789abcdefghijkl',
    traceparent: null,
    tenant: null,
    caller: null,
    ...parts,
  };
};

export const startSlackLab = async (options: SlackLabOptions = {}): Promise<SlackLab> => {
  const { channels = [createChannel(1, { name: 'general' })], limitMs, clock } = options;
  const slack = await startSlackStandIn(createWorkspace(channels));
  const access = createSlackAccess({
    token: 'token' in options ? options.token : SLACK_TOKEN,
    apiUrl: options.apiUrl ?? slack.origin,
    ...(limitMs === undefined ? {} : { limitMs }),
    ...(clock === undefined ? {} : { clock }),
  });
  onTestFinished(access.close);
  const post = createPostSlackMessage(access);
  const list = createListSlackChannels(
    access,
    createMemoryPageTokens({ memory: roomyMemory(), ttlMs: 60_000, now: () => 1 }),
  );
  const logged: string[] = [];
  return {
    slack,
    post: (input = {}, context = {}) =>
      run(post, { channel: '#general', text: 'Hello', ...input }, createContext(post, context, logged)),
    list: (input = {}, context = {}) => run(list, input, createContext(list, context, logged)),
    logged,
  };
};
