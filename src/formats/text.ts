import type { MessageFormat } from '../contract/message-format.ts';
import type { Answer, AskedCall } from './define-dialect.ts';
import { toTurn } from './define-dialect.ts';
import type { Dialect, ReadAnswer } from './dialect.ts';
import { isArray, member, toAskedId, toAskedName } from './json-access.ts';

const FORMAT: MessageFormat = 'text';
const SUCCESS = 'SUCCESS: ';
const ERROR = 'ERROR: ';

/**
 * Plain observations for loops that keep one text a step: the native envelope in, `SUCCESS: …` and `ERROR: …` out.
 * Only ever named, never detected: the envelope is the native one.
 */
export const text: Dialect = {
  format: FORMAT,
  detects: () => false,
  parse: (body) => {
    const calls = member(body, 'calls');
    return isArray(calls) ? toTurn(calls.map(toAsked), (answers) => answers.map(toLine)) : null;
  },
  toRaw: (messages) => messages,
  writeTurn: (calls) => ({ calls }),
  readMessages: (messages) => messages.flatMap(toReadAnswer),
};

const toAsked = (call: unknown): AskedCall => ({
  id: toAskedId(member(call, 'id')),
  name: toAskedName(member(call, 'name')),
  call,
});

// A failure's text begins with `ERROR: ` as it is.
const toLine = ({ success, text: observation }: Answer): string => (success ? `${SUCCESS}${observation}` : observation);

const toReadAnswer = (line: unknown): readonly ReadAnswer[] => {
  if (typeof line !== 'string') return [];
  if (line.startsWith(SUCCESS)) return [{ id: null, name: null, success: true, text: line.slice(SUCCESS.length) }];
  return line.startsWith(ERROR) ? [{ id: null, name: null, success: false, text: line }] : [];
};
