import { createQuickLook } from './quick-look.ts';

/** Finds the forms of registered values. */
export type SecretFinder = {
  /** Whether the text holds one. */
  readonly isIn: (text: string) => boolean;
  readonly replace: (text: string) => string;
  /** Replaces the beginning of one where an ellipsis cuts it off. */
  readonly replaceHalves: (text: string) => string;
};

const INSTEAD = '[redacted]';
// Less of a secret than this is left before an ellipsis: so little stands there by chance.
const MIN_HALF = 4;
const ELLIPSIS = '…';

/** A finder of these texts; null where there are none. */
export const createSecretFinder = (forms: readonly string[]): SecretFinder | null => {
  if (forms.length === 0) return null;
  // The longest first: of two that begin alike, the shorter would leave the rest of the longer.
  const longestFirst = forms.toSorted((one, other) => other.length - one.length);
  const any = new RegExp(longestFirst.map(escapeExpression).join('|'));
  const all = new RegExp(any.source, 'g');
  const mayHold = createQuickLook(forms);
  const findHalf = createHalfFinder(forms);
  return {
    isIn: (text) => mayHold(text) && any.test(text),
    replace: (text) => (mayHold(text) ? text.replace(all, INSTEAD) : text),
    replaceHalves: (text) => (text.includes(ELLIPSIS) ? replaceHalves(text, findHalf) : text),
  };
};

const escapeExpression = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** Where the half secret begins that ends at `end`; -1 where there is none. */
type FindHalf = (text: string, end: number) => number;

const createHalfFinder = (forms: readonly string[]): FindHalf => {
  const ends = new Set(forms.flatMap(toPieces));
  return (text, end) => {
    const last = text.slice(Math.max(0, end - MIN_HALF), end);
    if (!ends.has(last)) return -1;
    const longest = forms.reduce((most, form) => Math.max(most, measureHalf(form, last, text.slice(0, end))), 0);
    return longest === 0 ? -1 : end - longest;
  };
};

/** With how much of the form's beginning a text ends that ends with `last`. */
const measureHalf = (form: string, last: string, text: string): number => {
  let longest = 0;
  for (let at = form.indexOf(last); at !== -1; at = form.indexOf(last, at + 1))
    if (text.endsWith(form.slice(0, at + MIN_HALF))) longest = at + MIN_HALF;
  return longest;
};

// All that a half of it may end with: a text of nothing but ellipses must not be searched at each.
const toPieces = (form: string): readonly string[] =>
  Array.from({ length: form.length - MIN_HALF + 1 }, (_, start) => form.slice(start, start + MIN_HALF));

const replaceHalves = (text: string, findHalf: FindHalf): string => {
  let rest = '';
  let from = 0;
  for (let end = text.indexOf(ELLIPSIS); end !== -1; end = text.indexOf(ELLIPSIS, end + 1)) {
    const start = findHalf(text, end);
    if (start < from) continue;
    rest += `${text.slice(from, start)}${INSTEAD}`;
    from = end;
  }
  return rest + text.slice(from);
};
