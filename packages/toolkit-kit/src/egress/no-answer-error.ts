import { UpstreamToolError } from 'recourse-server/tools/tool-errors';
import type { NoAnswer } from './exchange.ts';

/** What a `fetch` of ours throws where no answer came, for client libraries that wrap what they catch. */
export class NoAnswerError extends Error {
  override readonly name: string = 'NoAnswerError';
  readonly noAnswer: NoAnswer;

  constructor(noAnswer: NoAnswer) {
    super(`No answer: ${noAnswer.reason} (${noAnswer.code}).`, { cause: noAnswer.cause });
    this.noAnswer = noAnswer;
  }
}

const DEEPEST = 8;

/** The silence behind an error of a client library: its own, or that of a cause; undefined where there is none. */
export const findNoAnswer = (thrown: unknown): NoAnswer | undefined => {
  let error = thrown;
  for (let depth = 0; depth < DEEPEST && error instanceof Error; depth += 1) {
    if (error instanceof NoAnswerError) return error.noAnswer;
    error = 'original' in error ? error.original : error.cause;
  }
  return undefined;
};

const TEXTS = {
  address_refused: (name) => `${name} is at an address that is not allowed`,
  not_sent: (name) => `The request to ${name} cannot be sent`,
  no_such_host: (name) => `The host of ${name} does not exist`,
  lookup_failed: (name) => `The address of ${name} could not be resolved`,
  not_connected: (name) => `No connection to ${name}`,
  bad_certificate: (name) => `No secure connection to ${name}`,
  lost: (name) => `The connection to ${name} broke before the answer was complete`,
  too_slow: (name) => `${name} did not answer in time`,
  unreadable: (name) => `${name} sent an answer that cannot be read`,
} as const satisfies Record<NoAnswer['reason'], (name: string) => string>;

/** The failure for a service, by its name for people, that did not answer. `executed` is `no` where nothing was sent. */
export const createNoAnswerFailure = (
  { reason, code, executed, cause }: NoAnswer,
  service: string,
): UpstreamToolError =>
  new UpstreamToolError('upstream_unavailable', `${TEXTS[reason](service)} (${code}). Try again later.`, {
    executed,
    cause,
  });
