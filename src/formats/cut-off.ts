import type { AskedCall, FoundCalls } from './define-dialect.ts';
import { isObject, member } from './json-access.ts';
import { spellingOf } from './spelling.ts';

/** A call whose arguments were lost must not run with {}: an unfinished object is what they amount to. */
export const LOST_ARGUMENTS = '{';

/** The same call without its arguments, which fails as one whose arguments are no JSON. */
export const withoutArguments = <Call extends AskedCall>(asked: Call): Call => {
  const { call } = asked;
  if (!isObject(call)) return asked;
  return { ...asked, call: { id: call['id'], name: call['name'], arguments: LOST_ARGUMENTS } };
};

/**
 * The calls of a turn, of which the last has lost its arguments where the provider cut the turn off in it: they are blank
 * then, or as many as an SDK made of the piece. `holder` is what says why the turn ended.
 */
export const withoutCutOff = <Call extends AskedCall>(found: FoundCalls<Call>, holder: unknown): FoundCalls<Call> => {
  const { entries, calls } = found;
  const last = calls.at(-1);
  if (last === undefined || !wasCut(holder) || !isUnfinished(last.call)) return found;
  // What comes after a call shows that the call was whole, as an item of OpenAI says of itself.
  const end = entries.at(-1);
  if (entries.length > 0 && (spellingOf(end) === null || member(end, 'status') === 'completed')) return found;
  return { entries, calls: [...calls.slice(0, -1), withoutArguments(last)] };
};

const wasCut = (holder: unknown): boolean =>
  REASONS.some((key) => {
    const reason = member(holder, key);
    return typeof reason === 'string' && CUT.has(reason.toLowerCase());
  });

// How the providers name the reason, and the reasons for which they stop in the middle of a call.
const REASONS = ['finish_reason', 'finishReason', 'stop_reason', 'stopReason', 'done_reason', 'status'];
const CUT: ReadonlySet<string> = new Set([
  ...['length', 'max_tokens', 'model_length', 'model_context_window_exceeded', 'content_filter', 'refusal'],
  ...['error', 'incomplete', 'cancelled', 'failed'],
]);

// Of a free text, nothing shows whether it is whole.
const isUnfinished = (call: unknown): boolean => {
  const given = member(call, 'arguments') ?? '';
  if (typeof given === 'string') return member(call, 'written') === 'freely' || /^\s*(?:\{\s*\})?\s*$/.test(given);
  return isObject(given) && Object.keys(given).length === 0;
};
