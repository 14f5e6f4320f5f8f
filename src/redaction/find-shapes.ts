/** A secret in a text: where it begins, where what follows it begins, and what is shown instead. */
export type Found = {
  readonly start: number;
  readonly end: number;
  readonly instead: string;
  /** Which registered value it is; null for what only has the shape of a secret. */
  readonly secret: number | null;
};

/** The text with each place in `found` replaced; places that overlap are one, shown as the first of them. */
export const replaceFound = (text: string, found: readonly Found[]): string => {
  let replaced = '';
  let from = 0;
  for (const { start, end, instead } of found.toSorted((one, other) => one.start - other.start)) {
    if (start >= from) replaced += text.slice(from, start) + instead;
    from = Math.max(from, end);
  }
  return replaced + text.slice(from);
};

// Where a shape begins: with a word, or behind a `_`, an escape of JSON (`\nsk-…`, `\u003dsk-…`) or of a URL (`%3Dsk-…`),
// or the colour of a terminal, whose `m` would be part of the word.
const START = '(?:\\b|(?<=_|\\\\[bfnrt]|\\\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}|\\[[\\d;]{0,16}m))';
// Between a scheme and its credential, in a URL as well.
const GAP = '(?:\\s|%20){1,8}';
const TOKEN_SIGN = '(?:[A-Za-z0-9._~+/=-]|%2[BbFf]|%3[Dd])';

const KEYS = [
  'sk-[\\w-]{16,}',
  '(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{10,}',
  '(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])',
  'AIza[\\w-]{30,}',
  'gh[opsur]_[A-Za-z0-9]{30,}',
  'github_pat_\\w{22,}',
  'glpat-[\\w-]{20,}',
  'xox[abeposr]-[A-Za-z0-9-]{10,}',
  'rcs_[\\w-]{40,}',
  'ya29\\.[\\w.-]{20,}',
];

// The password of an address may hold a `/` or a `"` as they are. Then what stands behind the colon must be no port and no
// place for one, and the password ends before a quoted address does, and before the next address begins.
const NO_PORT = '(?!\\d{1,5}(?!\\w)|[:/@?#{<])';
const BOLD_SIGN = '(?:(?!:\\/\\/)[^\\s"]|"(?![\\s,:;}\\])>"]|$))';

/** What the group `before` matches is shown; without a group `secret` the match is no secret. */
type Shape = { readonly shape: RegExp; readonly instead: string };

// Every expression here takes a time that grows with the length of the text and no faster: none of them begins again
// inside what it has read in vain.
const SHAPES: readonly Shape[] = [
  {
    shape:
      /(?<before>)(?<secret>-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$))/g,
    instead: '[redacted private key]',
  },
  {
    shape: new RegExp(
      `(?<before>[a-z0-9+.-]:\\/\\/)(?!\\[)(?<secret>[^\\s/@:"]*:(?:[^\\s/"]+|${NO_PORT}${BOLD_SIGN}+))@`,
      'gi',
    ),
    instead: '[redacted]',
  },
  {
    shape: new RegExp(`(?<before>${START}Bearer${GAP})(?<secret>${TOKEN_SIGN}{8,})`, 'gi'),
    instead: '[redacted]',
  },
  // `Basic authentication failed` is no credential: Base64 has capitals inside, digits, or an end of its own.
  {
    shape: new RegExp(
      `(?<before>${START}(?:[Bb]asic|BASIC)${GAP})(?=[A-Za-z]{0,60}?(?:[a-z][A-Z]|[0-9+/=]|%2[BbFf]|%3[Dd]))(?<secret>${TOKEN_SIGN}{8,})`,
      'g',
    ),
    instead: '[redacted]',
  },
  { shape: new RegExp(`(?<before>)(?<secret>${START}(?:${KEYS.join('|')}))`, 'g'), instead: '[redacted key]' },
  // What is no token in the end is taken whole all the same, and left as it is.
  {
    shape: new RegExp(
      `(?<before>)(?:(?<secret>${START}eyJ[\\w-]{8,}(?:\\.[\\w-]{8,}(?:\\.[\\w-]*|$)|$))|${START}eyJ[\\w-]{8,})`,
      'g',
    ),
    instead: '[redacted token]',
  },
];

// Four quick looks and two searches decide for almost every text that it holds no shape. V8 skips through a text where all
// pieces of an expression are of one length and rare: a single expression of all of them takes three times as long, and one
// more piece in one of these may take twice as long. The paths of a stack are file:///.
const RARE_PIECES = /AKIA|ASIA|AIza|gh[opsur]_|pat[_-]|sec_|rcs_|ya29|earer|EARER|asic|ASIC/;
const TOKENS = /(?:sk-|eyJ)[\w\\-]{3}|xox[abeposr]-[\w\\]/;
const STRIPE_KEY = /k_[lt]/;
const ADDRESS = /:\/\/[^\s/]/;

/** Whether a text may hold what has the shape of a secret; a JSON text may be asked as it is. */
export const mayContainShape = (text: string): boolean =>
  RARE_PIECES.test(text) ||
  TOKENS.test(text) ||
  STRIPE_KEY.test(text) ||
  ADDRESS.test(text) ||
  text.includes('KEY-----') ||
  text.includes('BLOCK-----');

/**
 * Where a text holds what has the shape of a secret: passwords in URLs, credentials of HTTP, private keys, JSON Web Tokens,
 * and keys as AWS, GitHub, GitLab, Google, Slack, Stripe, OpenAI and this service write them.
 */
export const findShapes = (text: string): readonly Found[] =>
  mayContainShape(text) ? SHAPES.flatMap((shape) => findShape(text, shape)) : [];

const findShape = (text: string, { shape, instead }: Shape): readonly Found[] => {
  const found: Found[] = [];
  for (const { index, groups } of text.matchAll(shape)) {
    const secret = groups?.['secret'];
    if (secret === undefined) continue;
    const start = index + (groups?.['before'] ?? '').length;
    found.push({ start, end: start + secret.length, instead, secret: null });
  }
  return found;
};
