import type { Executed } from '../contract/failure.ts';
import { endSentence, withLookahead } from '../tools/describe-value.ts';
import type { Tool } from '../tools/tool.ts';
import { TOOL_ERROR } from '../tools/tool-errors.ts';
import { type Failure, toFailure } from './failure.ts';
import { MAX_HINT_LENGTH } from './failure-message.ts';
import { MAX_MESSAGE_LENGTH, noMessageText, toFramelessText } from './failure-text.ts';

type Thrower = Pick<Tool, 'name' | 'effects'>;

/**
 * Any thrown thing as a failure value. Total: it answers for strings, null, frozen objects, revoked proxies and
 * getters that throw. `graceful: 'off'` makes an unclassified exception fatal (seed 000); the classified ones pass
 * through as they are, whatever the setting.
 */
export const classifyThrown = (thrown: unknown, tool: Thrower, graceful: 'on' | 'off'): Failure => {
  switch (read(thrown, TOOL_ERROR)) {
    case 'retryable':
      return toFailure('retry_requested', withHint(thrown, tool), tool, {
        ...detailsOf(thrown),
        executed: toRetryExecuted(executedOf(thrown), tool),
      });
    case 'terminal':
      return toFailure('tool_failed', withHint(thrown, tool), tool, {
        ...detailsOf(thrown),
        executed: executedOf(thrown) ?? 'yes',
      });
    case 'upstream_rate_limited':
      return toUpstreamFailure('upstream_rate_limited', thrown, tool);
    case 'upstream_unavailable':
      return toUpstreamFailure('upstream_unavailable', thrown, tool);
    default:
      return toException(thrown, tool, graceful);
  }
};

const toUpstreamFailure = (
  code: 'upstream_rate_limited' | 'upstream_unavailable',
  thrown: unknown,
  tool: Thrower,
): Failure => {
  const executed = executedOf(thrown) ?? 'maybe';
  const mayHaveHappened = executed !== 'no' && tool.effects === 'write';
  const outcome = mayHaveHappened ? 'unknown' : 'retry';
  return toFailure(code, withHint(thrown, tool), tool, { ...detailsOf(thrown), executed, outcome });
};

// A write that says nothing was not begun; of a repeat that can do no harm only `no` is worth saying.
const toRetryExecuted = (said: Executed | undefined, { effects }: Thrower): Executed => {
  if (effects === 'write') return said ?? 'no';
  return said === 'no' ? 'no' : 'yes';
};

const toException = (thrown: unknown, tool: Thrower, graceful: 'on' | 'off'): Failure => {
  const type = typeNameOf(thrown);
  const text = textOf(thrown);
  const { hint } = detailsOf(thrown);
  const message = endWithHint(text === '' ? noMessageText(tool.name) : `${type}: ${text}`, hint);
  const fatal = graceful === 'off';
  return toFailure('tool_exception', message, tool, {
    type,
    hint,
    thrown,
    fatal,
    ...(fatal ? { outcome: 'failed' } : {}),
  });
};

const detailsOf = (thrown: unknown) => {
  const hint = read(thrown, 'hint');
  const retryAfterMs = read(thrown, 'retryAfterMs');
  return {
    type: typeNameOf(thrown),
    hint: toHint(hint),
    retryAfterMs: typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? retryAfterMs : null,
    payload: read(thrown, 'value') ?? null,
    thrown,
  };
};

const executedOf = (thrown: unknown): Executed | undefined => {
  const executed = read(thrown, 'executed');
  return executed === 'yes' || executed === 'no' || executed === 'maybe' ? executed : undefined;
};

// Blank says nothing.
const toHint = (hint: unknown): string | null =>
  typeof hint === 'string' && hint.trim() !== ''
    ? withLookahead(toFramelessText(hint, MAX_READ), MAX_HINT_LENGTH)
    : null;

// The tool's own text, then its hint.
const withHint = (thrown: unknown, tool: Thrower): string => {
  const text = textOf(thrown);
  const { hint } = detailsOf(thrown);
  const said = text === '' ? noMessageText(tool.name) : text;
  return endWithHint(said, hint);
};

// A tool may have put its hint into its text.
const endWithHint = (said: string, hint: string | null): string =>
  hint === null || said.includes(hint) ? said : `${endSentence(said)} ${hint}`;

const textOf = (thrown: unknown): string => {
  if (thrown === null || thrown === undefined) return '';
  const text = typeof thrown === 'object' || typeof thrown === 'function' ? textOfObject(thrown) : toText(thrown);
  return toPlainText(text);
};

// Frames are many characters and are not shown: more is read than may stay.
const MAX_READ = 4 * MAX_MESSAGE_LENGTH;

const toPlainText = (text: string): string => withLookahead(toFramelessText(text, MAX_READ), MAX_MESSAGE_LENGTH);

const textOfObject = (thrown: object): string => {
  const message = read(thrown, 'message');
  if (typeof message === 'string') return message;
  const json = attempt(() => JSON.stringify(thrown));
  return typeof json === 'string' && json !== '{}' ? json : '';
};

const toText = (thrown: unknown): string => {
  const text = attempt(() => String(thrown));
  return typeof text === 'string' ? text : '';
};

const typeNameOf = (thrown: unknown): string => {
  const named = read(thrown, 'name');
  if (isTypeName(named) && named !== 'Error') return named;
  const constructed = read(read(thrown, 'constructor'), 'name');
  const isError = typeof read(thrown, 'message') === 'string';
  return isError && isTypeName(constructed) && constructed !== 'Object' ? constructed : 'Error';
};

const isTypeName = (name: unknown): name is string => typeof name === 'string' && /^[\w$.]{1,80}$/.test(name);

/** A property of anything at all; undefined where there is none or reading it throws. */
const read = (from: unknown, key: PropertyKey): unknown =>
  (typeof from === 'object' && from !== null) || typeof from === 'function'
    ? attempt(() => Reflect.get(from, key))
    : undefined;

const attempt = (step: () => unknown): unknown => {
  try {
    return step();
  } catch (_hostile) {
    return undefined;
  }
};
