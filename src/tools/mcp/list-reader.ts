import { type Client, ProtocolError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { codeOf } from '../http/error-code.ts';
import { showText } from '../http/show-url.ts';
import type { ToolLog } from '../tool.ts';
import { networkCodeOf } from './call-failure.ts';
import type { FadingLog } from './fading-log.ts';
import { readStandIn } from './stand-in-answers.ts';
import { type ListedTool, readToolList } from './tool-list.ts';
import { readHttpTrouble } from './upstream-http-error.ts';

export type ListReaderOptions = {
  readonly log: ToolLog;
  readonly failures: FadingLog;
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
export type ListReading = { readonly kind: 'read' | 'not_asked' } | { readonly kind: 'failed'; readonly cause: string };

/** Reads the list, once at a time; whoever asks meanwhile gets the next reading. Never rejects. */
export const createListReader = (options: ListReaderOptions): (() => Promise<ListReading>) => {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<ListReading> | null = null;
  return () => {
    next ??= last.then(() => {
      next = null;
      const reading = readOnce(options);
      last = reading.then(() => pause(options.gapMs));
      return reading;
    });
    return next;
  };
};

const readOnce = async (options: ListReaderOptions): Promise<ListReading> => {
  const { client, limitMs, holdsSecret, onList, log, failures } = options;
  const asked = client();
  if (asked === null) return NOT_ASKED;
  const list = await readToolList(asked, limitMs).catch(toCause);
  // Meanwhile it may be another connection that serves, with a list of its own.
  if (client() !== asked) return NOT_ASKED;
  if (typeof list === 'string') {
    failures.failed(list);
    return { kind: 'failed', cause: list };
  }
  failures.worked();
  if (list.dropped > 0) log.warn('entries of the list of an MCP server were dropped', { entries: list.dropped });
  const shown = list.tools.filter(({ name }) => !holdsSecret(name));
  const secret = list.tools.length - shown.length;
  if (secret > 0) log.warn('tools of an MCP server are left out, for their names hold a secret', { tools: secret });
  await onList(shown);
  return { kind: 'read' };
};

const NOT_ASKED: ListReading = { kind: 'not_asked' };

/** Why a list could not be read, one clause for people. */
const toCause = (error: unknown): string => {
  if (error instanceof ProtocolError) return toRefusal(error);
  const trouble = readHttpTrouble(error);
  if (trouble !== null) return trouble.kind === 'status' ? `HTTP ${trouble.status}` : TOO_LARGE;
  if (error instanceof SdkHttpError) return `HTTP ${error.status}`;
  return CAUSES.get(codeOf(error)) ?? showText(networkCodeOf(error));
};

const toRefusal = ({ code, message, data }: ProtocolError): string =>
  readStandIn(data) === 'too_large' ? TOO_LARGE : `error ${code}: ${showText(message)}`;

const TOO_LARGE = 'the list is too large';
const NO_ANSWER = 'no answer in time';

const CAUSES: ReadonlyMap<string, string> = new Map([
  [SdkErrorCode.RequestTimeout, NO_ANSWER],
  ['TimeoutError', NO_ANSWER],
  [SdkErrorCode.InvalidResult, 'its answer is no list of tools'],
  [SdkErrorCode.ConnectionClosed, 'the connection has ended'],
]);

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
