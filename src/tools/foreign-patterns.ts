import type * as Re2 from 're2js';

type Pattern = { readonly test: (text: string) => boolean; readonly toString?: () => string };

export type ForeignPatterns = ReturnType<typeof createForeignPatterns>;

/**
 * Patterns of schemas from elsewhere, which must not be able to stop this process: as RE2 runs them, in linear time, compiled with the first value that is checked against them. RE2 cannot run a
 * pattern with look-around or back-references, one that is not ECMAScript, or one whose repetitions make its program megabytes
 * long. Such a pattern is not checked here; the upstream that declares it checks it.
 */
export const createForeignPatterns = ({ RE2JS, RE2JSException }: typeof Re2) => {
  let left = MOST_PATTERN_STEPS;
  const compile = (pattern: string): Pattern => {
    const plain = toEcmaScript(pattern);
    if (plain === null) return ANYTHING;
    try {
      return RE2JS.compile(RE2JS.translateRegExp(plain));
    } catch (error) {
      if (error instanceof RE2JSException) return ANYTHING;
      throw error;
    }
  };
  // The same for all who ask: an alternative must not be loosened for one of them alone.
  const known = new Map<string, () => Pattern>();
  const find = (pattern: string): (() => Pattern) => {
    const existing = known.get(pattern);
    if (existing !== undefined) return existing;
    const steps = countSteps(pattern);
    left -= steps;
    let compiled = steps > MOST_STEPS_OF_A_PATTERN || left < 0 ? ANYTHING : undefined;
    const toPattern = (): Pattern => {
      compiled ??= compile(pattern);
      return compiled;
    };
    known.set(pattern, toPattern);
    return toPattern;
  };
  const run = (pattern: string): Pattern => {
    const lazy = find(pattern);
    // Ajv takes patterns of one text for one pattern.
    return { test: (text) => lazy().test(text), toString: () => pattern };
  };
  return {
    // Its name is for compiled checks that are written to a file, which is not done here.
    engine: Object.assign(run, { code: 'linear' }),
    /** Whether texts are held to a pattern; any text fits one that cannot be run. */
    isJudged: (pattern: string): boolean => find(pattern)() !== ANYTHING,
  };
};

// RE2 writes a repetition out: `(a|b){0,900}` is 900 times as long. A step takes some 300 bytes.
const MOST_STEPS_OF_A_PATTERN = 20_000;
// Of all patterns that share a validator: those of a tool, or of a document.
const MOST_PATTERN_STEPS = 500_000;

const countSteps = (pattern: string): number => {
  const repeats = [...pattern.matchAll(/\{(?:\d+,)?(\d+)/g)].map(([, most]) => Number(most));
  return pattern.length * Math.max(1, ...repeats);
};

const ANYTHING: Pattern = { test: () => true };

/**
 * A pattern as ECMAScript has it with the flag `u`, without escapes that mean nothing; null where it is none. `/^a$/` is the
 * literal of a language: as an expression it fits no text at all, since nothing stands before a beginning. What is between
 * the slashes is meant; with flags that JSON Schema cannot say it is none.
 */
export const toEcmaScript = (pattern: string): string | null => {
  const [, expression = pattern, flags = ''] = /^\/(\^.*\$)\/([a-z]*)$/s.exec(pattern) ?? [];
  if (!/^[gu]*$/.test(flags)) return null;
  if (isEcmaScript(expression)) return expression;
  const plain = withPortableEscapes(expression);
  return isEcmaScript(plain) ? plain : null;
};

// With the flag that validators use.
const isEcmaScript = (pattern: string): boolean => {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return false;
    throw thrown;
  }
};

// Python and Ruby write the beginning and the end of a text so.
const ANCHORS: ReadonlyMap<string, string> = new Map([
  ['A', '^'],
  ['Z', '$'],
  ['z', '$'],
]);

// With the flag `u`, signs that mean nothing else must not be escaped, and a dash only within `[]`.
const withPortableEscapes = (pattern: string): string =>
  pattern.replace(/\\(.)/gs, (escaped, sign: string) => {
    if (sign === '-') return '\\x2d';
    return ANCHORS.get(sign) ?? (/[\^$\\.*+?()[\]{}|/A-Za-z0-9]/.test(sign) ? escaped : sign);
  });
