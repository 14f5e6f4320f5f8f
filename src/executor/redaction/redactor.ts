import { toFailure } from '../failure.ts';
import { INTERNAL_ERROR_TEXT } from '../failure-text.ts';
import { renderFailure } from '../render-result.ts';
import {
  IS_OWN_OF_NONE,
  type IsOwn,
  isOwnOfJournal,
  isOwnOfLog,
  isOwnOfResult,
  isOwnOfSchema,
} from './own-structure.ts';
import { redactJson } from './redact-json.ts';
import { mayHoldShape, redactShapes } from './redact-shapes.ts';
import { createSecretFinder, type SecretFinder } from './secret-finder.ts';
import { toSecretForms } from './secret-forms.ts';

/** Where a text that held a secret was going. */
export type RedactedIn = 'result' | 'journal' | 'log' | 'span';

/**
 * Takes secrets out of what leaves the service. Gives the same text where there is nothing to take out. Total: what it
 * fails at is `[redacted]` whole, and where JSON is given, JSON of the same kind.
 */
export type Redactor = {
  /** Text of a failure, or for people: without registered values, also where one is cut off, and without shapes of secrets. */
  readonly text: (text: string, place: RedactedIn) => string;
  /** The same for a line of the journal or of the log, each a JSON text. What the service itself says in it stays. */
  readonly json: (json: string, place: 'journal' | 'log') => string;
  /** What a tool says beside its value: without registered values, also where one is cut off. */
  readonly said: (text: string, place: RedactedIn) => string;
  /** A result as JSON text without registered values in its value, its texts, its id and its name; all else stays. */
  readonly registered: (json: string, place: RedactedIn) => string;
  /** Any other JSON text without registered values: a tool's own value. */
  readonly value: (json: string, place: RedactedIn) => string;
  /** A JSON Schema without registered values. Its keywords stay. */
  readonly schema: (json: string, place: RedactedIn) => string;
  /** Whether a registered value is in a text, which is left as it is. */
  readonly holds: (text: string) => boolean;
  /** Registers more values; those before stay. From now on no text shows them. */
  readonly register: (secrets: readonly string[]) => void;
};

export type RedactorOptions = {
  /** Registered values; those of fewer than 8 characters are left out. */
  readonly secrets: readonly string[];
  readonly onRedacted?: (place: RedactedIn) => void;
};

type Redact = (text: string) => string;

/** Makes a redactor. Without registered values `registered`, `value`, `schema` and `said` cost nothing. */
export const createRedactor = ({ secrets, onRedacted = () => undefined }: RedactorOptions): Redactor => {
  const forms = new Set<string>();
  let finder: SecretFinder | null = null;
  const take = orElse((text) => finder?.replace(text) ?? text, toRedacted);
  const takeCutOff = orElse((text) => finder?.replaceCutOff(text) ?? text, toRedacted);
  const takeAll = orElse((text) => redactShapes(takeCutOff(text)), toRedacted);
  const isIn = (json: string): boolean => finder?.isIn(json) ?? false;
  const mayHoldAny = (json: string): boolean =>
    mayHoldShape(json) || (finder !== null && json.includes('…')) || isIn(json);
  // One string that it fails at is one `[redacted]`, and the rest of the JSON text is as it was.
  const inJson = (mayHold: (json: string) => boolean, redact: Redact, isSpared: IsOwn, lost: Redact): Redact =>
    orElse((json) => (mayHold(json) ? redactJson(json, { redact, isSpared }) : json), lost);
  const counted =
    (redact: Redact) =>
    (text: string, place: RedactedIn): string => {
      const redacted = redact(text);
      if (redacted !== text) onRedacted(place);
      return redacted;
    };
  const inJournal = counted(inJson(mayHoldAny, takeAll, isOwnOfJournal, () => '{}'));
  const inLog = counted(inJson(mayHoldAny, takeAll, isOwnOfLog, () => LOST_LINE));
  const register = (more: readonly string[]): void => {
    const before = forms.size;
    for (const form of more.flatMap(toSecretForms)) forms.add(form);
    if (forms.size > before) finder = createSecretFinder([...forms]);
    // What the first text would wait for is done now.
    takeAll(`${more.join('\n')}…`);
  };
  register(secrets);
  return {
    text: counted(takeAll),
    json: (json, place) => (place === 'journal' ? inJournal : inLog)(json, place),
    said: counted(takeCutOff),
    registered: counted(inJson(isIn, take, isOwnOfResult, toLostResult)),
    value: counted(inJson(isIn, take, IS_OWN_OF_NONE, toRedactedJson)),
    schema: counted(inJson(isIn, take, isOwnOfSchema, () => '{}')),
    holds: isIn,
    register,
  };
};

const toRedacted: Redact = () => '[redacted]';
const toRedactedJson: Redact = () => '"[redacted]"';
const LOST_LINE = '{"level":50,"msg":"[redacted]"}\n';

/** What an error says may be what was looked for, so nobody hears of it: that a text was redacted is counted. */
const orElse =
  (redact: Redact, instead: Redact): Redact =>
  (text) => {
    try {
      return redact(text);
    } catch (_unsaid) {
      return instead(text);
    }
  };

/** A result of which nothing but its place can be told. */
const toLostResult: Redact = (json) => {
  const [, index = '0'] = /^\{"index":(\d{1,9})/.exec(json) ?? [];
  const failure = toFailure('internal_error', INTERNAL_ERROR_TEXT, null);
  const call = { index: Number(index), id: null, name: null, kind: 'refused', tool: null, failure } as const;
  const parts = { call, durationMs: 0, marks: [], warnings: [], retry: null, reference: '', suffix: '' };
  return renderFailure({ kind: 'failure', failure, valueJson: 'null' }, parts);
};
