type Shape = readonly [shape: RegExp, instead: string | ((found: string, token?: string) => string)];

// A key begins a word, or follows an escape of a JSON text (`\nsk-…`).
const KEYS = [
  'sk-[\\w-]{16,}',
  '(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{10,}',
  '(?:AKIA|ASIA)[0-9A-Z]{16}\\b',
  'AIza[\\w-]{30,}',
  'gh[opsur]_[A-Za-z0-9]{30,}',
  'github_pat_\\w{22,}',
  'glpat-[\\w-]{20,}',
  'xox[abeposr]-[A-Za-z0-9-]{10,}',
  'rcs_[\\w-]{40,}',
];

// Every expression here takes a time that grows with the length of the text and no faster: none of them begins again
// inside what it has read in vain.
const SHAPES: readonly Shape[] = [
  [
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
    '[redacted private key]',
  ],
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@:"]*:[^\s/"]+@/gi, '$1[redacted]@'],
  [/(?:\b|(?<=\\[bfnrt]))(Bearer)\s{1,8}[A-Za-z0-9._~+/=-]{8,}/gi, '$1 [redacted]'],
  // `Basic authentication failed` is no credential: Base64 has capitals inside, digits, or an end of its own.
  [
    /(?:\b|(?<=\\[bfnrt]))([Bb]asic|BASIC)\s{1,8}(?=[A-Za-z]{0,60}?(?:[a-z][A-Z]|[0-9+/=]))[A-Za-z0-9._~+/=-]{8,}/g,
    '$1 [redacted]',
  ],
  [new RegExp(`(?:\\b|(?<=\\\\[bfnrt]))(?:${KEYS.join('|')})`, 'g'), '[redacted key]'],
  // What is no token in the end is taken whole all the same, and left as it is.
  [
    /(?:\b|(?<=\\[bfnrt]))eyJ[\w-]{8,}(\.[\w-]{8,}(?:\.[\w-]*|$)|$)?/g,
    (found, token) => (token === undefined ? found : '[redacted token]'),
  ],
];

// What an ellipsis cuts off before it has its shape. No longer run is read: a longer one has it.
const CUT_OFF: readonly Shape[] = [
  [/(:\/\/)[^\s/@:"]{0,80}:(?!\d{1,5}…)[^\s/@"]{1,200}…/g, '$1[redacted]…'],
  [/(?:\b|(?<=\\[bfnrt]))(Bearer|Basic)\s{1,8}[A-Za-z0-9._~+/=-]{1,8}…/gi, '$1 [redacted]…'],
  [
    /(?:\b|(?<=\\[bfnrt]))(?:sk-|[sr]k_(?:live|test)_|whsec_|AKIA|ASIA|AIza|gh[opsur]_|github_pat_|glpat-|xox[abeposr]-|rcs_|eyJ)[\w.-]{0,48}…/g,
    '[redacted key]…',
  ],
];

// One look decides for almost every text that there is nothing to replace: by pieces that are rare in lines of the log, for
// common ones (`_`, letters in both cases) made it five times slower. The paths of a stack are file:///.
const ANY_SHAPE =
  /KEY-|:\/\/[^\s/]|earer|EARER|asic|ASIC|sk-|k_[lt]|sec_|AKIA|ASIA|AIza|gh[opsur]_|pat[_-]|xox|eyJ|rcs_/;

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
