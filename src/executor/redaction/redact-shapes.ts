type Shape = readonly [shape: RegExp, instead: string | ((found: string, token?: string) => string)];

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

// Every expression here takes a time that grows with the length of the text and no faster: none of them begins again
// inside what it has read in vain.
const SHAPES: readonly Shape[] = [
  [
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
    '[redacted private key]',
  ],
  [new RegExp(`([a-z0-9+.-]:\\/\\/)(?!\\[)[^\\s/@:"]*:(?:[^\\s/"]+|${NO_PORT}${BOLD_SIGN}+)@`, 'gi'), '$1[redacted]@'],
  [new RegExp(`${START}(Bearer)(${GAP})${TOKEN_SIGN}{8,}`, 'gi'), '$1$2[redacted]'],
  // `Basic authentication failed` is no credential: Base64 has capitals inside, digits, or an end of its own.
  [
    new RegExp(
      `${START}([Bb]asic|BASIC)(${GAP})(?=[A-Za-z]{0,60}?(?:[a-z][A-Z]|[0-9+/=]|%2[BbFf]|%3[Dd]))${TOKEN_SIGN}{8,}`,
      'g',
    ),
    '$1$2[redacted]',
  ],
  [new RegExp(`${START}(?:${KEYS.join('|')})`, 'g'), '[redacted key]'],
  // What is no token in the end is taken whole all the same, and left as it is.
  [
    new RegExp(`${START}eyJ[\\w-]{8,}(\\.[\\w-]{8,}(?:\\.[\\w-]*|$)|$)?`, 'g'),
    (found, token) => (token === undefined ? found : '[redacted token]'),
  ],
];

// What an ellipsis cuts off before it has its shape. No longer run is read: a longer one has it.
const CUT_OFF: readonly Shape[] = [
  [/(:\/\/)[^\s/@:"]{0,80}:(?!\d{1,5}…)[^\s/@"]{1,200}…/g, '$1[redacted]…'],
  [new RegExp(`${START}(Bearer|Basic)(${GAP})${TOKEN_SIGN}{1,8}%?[23]?…`, 'gi'), '$1$2[redacted]…'],
  [
    new RegExp(
      `${START}(?:sk-|[sr]k_(?:live|test)_|whsec_|AKIA|ASIA|AIza|gh[opsur]_|github_pat_|glpat-|xox[abeposr]-|rcs_|ya29\\.|eyJ)[\\w.-]{0,48}…`,
      'g',
    ),
    '[redacted key]…',
  ],
];

// One look decides for almost every text that there is nothing to replace: by pieces that are rare in lines of the log, for
// common ones (`_`, letters in both cases) made it five times slower. The paths of a stack are file:///.
const ANY_SHAPE =
  /KEY-|CK-----|:\/\/[^\s/]|earer|EARER|asic|ASIC|sk-|k_[lt]|sec_|AKIA|ASIA|AIza|gh[opsur]_|pat[_-]|xox|eyJ|rcs_|ya29/;

/** Whether a text may hold what has the shape of a secret; a JSON text may be asked as it is. */
export const mayHoldShape = (text: string): boolean => ANY_SHAPE.test(text);

/**
 * A text without what has the shape of a secret: passwords in URLs, credentials of HTTP, private keys, JSON Web Tokens, and
 * keys as AWS, GitHub, GitLab, Google, Slack, Stripe, OpenAI and this service write them. Never applied to a value.
 */
export const redactShapes = (text: string): string => {
  if (!mayHoldShape(text)) return text;
  const shapes = text.includes('…') ? [...SHAPES, ...CUT_OFF] : SHAPES;
  return shapes.reduce((rest, [shape, instead]) => replaceShape(rest, shape, instead), text);
};

const replaceShape = (text: string, shape: RegExp, instead: Shape[1]): string =>
  typeof instead === 'string' ? text.replace(shape, instead) : text.replace(shape, instead);
