import {
  type ClientFetch,
  createClientFetch,
  createClientOpener,
  NoAnswerError,
  type RetryClock,
  showText,
  systemRetryClock,
  toChosenService,
} from '@recourse/toolkit-kit/http';
import { toWorkMs } from '@recourse/toolkit-kit/page-answers';
import type { LogLevel, WebClientOptions } from '@slack/web-api';
import { RetryableToolError, TerminalToolError } from 'recourse-server';
import type { ToolContext } from 'recourse-server/extension';
import { explainSlackFailure, type RefusalTexts, watchFetch } from './slack-failure.ts';

export type SlackOptions = { readonly token: string | undefined; readonly apiUrl: string | undefined };

export type SlackRequest = {
  readonly method: 'chat.postMessage' | 'conversations.list';
  readonly arguments: Readonly<Record<string, string | number | boolean | undefined>>;
  /** `transport`: failures that pass are tried again. Only for what does no harm twice. */
  readonly repeats: 'transport' | 'never';
  readonly refusals: RefusalTexts;
  /** What is said where nobody knows whether it was done. Left out for what does no harm twice. */
  readonly doubt?: string;
};

export type SlackContext = Pick<ToolContext, 'signal' | 'log' | 'timeoutMs'>;

/** Slack as the tools reach it: one place for the token, time limits, repeats of reads, and what failures mean. */
export type SlackAccess = {
  /**
   * Slack's answer to one request, still unchecked. Rejects with a RetryableToolError (not configured, or as `refusals`
   * say), a TerminalToolError (token, scopes, rights) or an UpstreamToolError (429, 5xx, silence, an unreadable answer).
   */
  readonly ask: (request: SlackRequest, context: SlackContext) => Promise<unknown>;
  readonly close: () => Promise<void>;
};

// 200 channels with all that Slack says of them are about 400 kB.
const MOST_BYTES = 4 * 1024 * 1024;
// Slack may send any number of warnings with an answer.
const MOST_WARNINGS = 5;
// Without an example: xoxb- has the shape of a secret, and would not be shown.
const NOT_CONFIGURED = 'Slack not configured. Set SLACK_BOT_TOKEN to the bot token of a Slack app.';
const BAD_TOKEN = 'SLACK_BOT_TOKEN is not a token. A human must set it to the bot token of a Slack app.';
// What a header can carry; the error of one that cannot would repeat it.
const TOKEN = /^[\x21-\x7e]+$/;
// A request that has less is hardly ever answered in time.
const LEAST_MS = 50;
const NO_TIME_LEFT = {
  kind: 'no_answer',
  reason: 'not_sent',
  executed: 'no',
  code: 'no time left',
  cause: undefined,
} as const;

/** Whether this can be sent as a token. */
export const isSlackToken = (token: string): boolean => TOKEN.test(token);

export const createSlackAccess = (
  options: SlackOptions & {
    /** Milliseconds for a request with its repeats. Default: what its call has for work. */
    readonly limitMs?: number;
    readonly clock?: RetryClock;
  },
): SlackAccess => {
  const { token = '', apiUrl, limitMs = Number.POSITIVE_INFINITY, clock = systemRetryClock } = options;
  const baseUrl = apiUrl === undefined ? undefined : new URL(apiUrl);
  const http = createClientOpener(toChosenService(clock));
  return {
    ask: async ({ method, arguments: sent, repeats, refusals, doubt }, { signal, log, timeoutMs }) => {
      if (token === '') throw new RetryableToolError(NOT_CONFIGURED, { executed: 'no' });
      if (!isSlackToken(token)) throw new TerminalToolError(BAD_TOKEN, { executed: 'no' });
      // From here: the first call waits for both libraries to be loaded.
      const endsAtMs = performance.now() + Math.min(limitMs, toWorkMs(timeoutMs));
      const terms = { client: await http.open(), maxBytes: MOST_BYTES, repeats, baseUrl, signal };
      const clientFetch: ClientFetch = async (url, init) => {
        const limitMs = endsAtMs - performance.now();
        // Whatever took the time: what could not be heard of any more is not begun.
        if (limitMs < LEAST_MS) throw new NoAnswerError(NO_TIME_LEFT);
        return createClientFetch({ ...terms, limitMs })(url, init);
      };
      const watched = watchFetch(clientFetch);
      // With the first call, as the client: it is 12 MB.
      const { WebClient, LogLevel } = await import('@slack/web-api');
      // One a call: it knows no other way to be given the signal of one. It costs 0.06 ms.
      const client = new WebClient(token, {
        fetch: watched.fetch,
        logger: createSlackLogger(log, LogLevel.WARN),
        retryConfig: { retries: 0 },
        rejectRateLimitedCalls: true,
        allowAbsoluteUrls: false,
      });
      try {
        return await client.apiCall(method, sent);
      } catch (thrown) {
        signal.throwIfAborted();
        throw explainSlackFailure(thrown, { course: watched.course(), refusals, doubt });
      }
    },
    close: http.close,
  };
};

/** What Slack's library wants to be told of: warnings go into the call's log, all else nowhere, and nothing to the console. */
const createSlackLogger = (log: ToolContext['log'], level: LogLevel): NonNullable<WebClientOptions['logger']> => {
  let warnings = 0;
  const tell = (...words: readonly unknown[]): void => {
    warnings += 1;
    if (warnings <= MOST_WARNINGS) log.warn('slack warning', { warning: showText(String(words[0])) });
  };
  return {
    debug: ignore,
    info: ignore,
    warn: tell,
    error: tell,
    setLevel: ignore,
    getLevel: () => level,
    setName: ignore,
  };
};

const ignore = (): void => undefined;
