import type { Logger } from 'pino';
import { OWN_CODE } from '../files/own-package.ts';
import { describeCauses } from './describe-error.ts';
import { type LogBatch, type LogFailure, levelOf, writeFields } from './log-lines.ts';

const MAX_MESSAGE = 500;

/**
 * A failed call as one line for people: tool, outcome and code, message, where a tool file threw, session, duration and
 * the reference. With LOG_LEVEL=debug all fields, as in a log of JSON.
 */
export const logFailureForPeople: LogFailure = (log, call, failure, line) => {
  if (log.isLevelEnabled('debug')) return writeFields(log, call, failure, line);
  const place = line.stacksUnder === null ? findPlace(failure.thrown) : null;
  const facts = [
    ...(place === null ? [] : [`at ${place}`]),
    ...toSender(call),
    toSession(call.session),
    toDuration(call.durationMs),
    ...(line.suppressed > 0 ? [`${line.suppressed} identical lines suppressed before`] : []),
    `reference ${line.reference}`,
  ];
  log[levelOf(failure)](
    `${call.tool} ${failure.outcome}/${failure.code}: ${toTerminalText(failure.message)} (${toTerminalText(facts.join(', '))})`,
  );
};

/** A batch as one line for people. With LOG_LEVEL=debug all fields, by `logFields`. */
export const createBatchLineForPeople = (log: Logger, logFields: LogBatch): LogBatch =>
  log.isLevelEnabled('debug')
    ? logFields
    : ({ calls, failed, durationMs, session, tenant, key }) => {
        const facts = [`${failed} failed`, ...toSender({ tenant, key }), toSession(session), toDuration(durationMs)];
        log.info(toTerminalText(`batch of ${calls} ${calls === 1 ? 'call' : 'calls'}: ${facts.join(', ')}`));
      };

const toSender = ({ tenant, key }: { readonly tenant: string; readonly key: string | null }): readonly string[] =>
  key === null ? [] : [`${tenant}/${key}`];

// The key of a session is `tenant:` and a hash: its first digits tell the sessions of a terminal apart.
const toSession = (session: string | null): string =>
  session === null ? 'no session' : `session ${session.slice(session.lastIndexOf(':') + 1).slice(0, 8)}`;

const toDuration = (ms: number): string => (ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`);

// A terminal would obey control characters; a model or an upstream may have written the message.
const toTerminalText = (text: string): string => {
  const plain = text.replace(/\s+/g, ' ').replace(/\p{C}/gu, '\ufffd');
  return plain.length > MAX_MESSAGE ? `${plain.slice(0, MAX_MESSAGE)}…` : plain;
};

/** `file:line:column` of the first frame in a file that is no part of the service, its packages or Node; else null. */
const findPlace = (thrown: unknown): string | null => {
  const frames = thrown === undefined ? [] : (describeCauses(thrown)[0]?.stack ?? []);
  for (const frame of frames) {
    const place = /\(?((?:file:\/\/)?\/[^()]+:\d+:\d+)\)?$/.exec(frame)?.[1]?.replace('file://', '') ?? null;
    if (place !== null && !OWN_CODE.some((own) => place.startsWith(own)) && !place.includes('/node_modules/'))
      return toTerminalText(place);
  }
  return null;
};
