import { redactJson } from './redact-json.ts';
import { mayHoldShape, redactShapes } from './redact-shapes.ts';
import { createSecretFinder } from './secret-finder.ts';
import { toSecretForms } from './secret-forms.ts';

/** Where a text that held a secret was going. */
export type RedactedIn = 'result' | 'journal' | 'log' | 'span';

/** Takes secrets out of what leaves the service. Total, and the same text where there is nothing to take out. */
export type Redactor = {
  /** Text of a failure, or for people: without registered values, also where one is cut off, and without shapes of secrets. */
  readonly text: (text: string, place: RedactedIn) => string;
  /** The same for a JSON text, which stays one. */
  readonly json: (json: string, place: RedactedIn) => string;
  /** What a tool says beside its value: without registered values, also where one is cut off. */
  readonly said: (text: string, place: RedactedIn) => string;
  /** A JSON text without registered values, and else as it is: what is true of a tool's value. It stays JSON. */
  readonly registered: (json: string, place: RedactedIn) => string;
};

export type RedactorOptions = {
  /** Registered values; those of fewer than 8 characters are left out. */
  readonly secrets: readonly string[];
  readonly onRedacted?: (place: RedactedIn) => void;
};

type Redact = (text: string) => string;

/** Makes a redactor. Without registered values `registered` and `said` cost nothing. */
export const createRedactor = ({ secrets, onRedacted = () => undefined }: RedactorOptions): Redactor => {
  const finder = createSecretFinder([...new Set(secrets.flatMap(toSecretForms))]);
  const take: Redact = finder?.replace ?? toSame;
  const takeCutOff: Redact = finder === null ? toSame : (text) => finder.replaceHalves(finder.replace(text));
  const takeAll: Redact = finder === null ? redactShapes : (text) => redactShapes(takeCutOff(text));
  const isIn = finder?.isIn ?? NEVER;
  const mayHoldAny =
    finder === null ? mayHoldShape : (json: string) => mayHoldShape(json) || json.includes('…') || finder.isIn(json);
  const counted =
    (redact: Redact): Redactor['text'] =>
    (text, place) => {
      const redacted = redact(text);
      if (redacted !== text) onRedacted(place);
      return redacted;
    };
  return {
    text: counted(takeAll),
    json: counted((json) => (mayHoldAny(json) ? redactJson(json, takeAll) : json)),
    said: counted(takeCutOff),
    registered: counted((json) => (isIn(json) ? redactJson(json, take) : json)),
  };
};

const toSame: Redact = (text) => text;
const NEVER = (): boolean => false;
