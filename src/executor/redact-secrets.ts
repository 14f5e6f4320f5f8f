/** Well-known shapes of secrets and what stays of them. One begins a word, or follows an escape of a JSON text (`\nsk-…`). */
const SHAPES: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, '[redacted private key]'],
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*:[^\s/@]+@/gi, '$1[redacted]@'],
  [/(?:\b|(?<=\\[bfnrt]))(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, '$1 [redacted]'],
  [/(?:\b|(?<=\\[bfnrt]))sk-[A-Za-z0-9_-]{16,}/g, '[redacted key]'],
  [/(?:\b|(?<=\\[bfnrt]))(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, '[redacted key]'],
  [/(?:\b|(?<=\\[bfnrt]))gh[opsur]_[A-Za-z0-9]{30,}/g, '[redacted key]'],
  [/(?:\b|(?<=\\[bfnrt]))xox[abposr]-[A-Za-z0-9-]{10,}/g, '[redacted key]'],
  [/(?:\b|(?<=\\[bfnrt]))eyJ[\w-]{8,}(?:\.[\w-]{8,}(?:\.[\w-]*|$)|$)/g, '[redacted token]'],
];

// One look decides for almost every text that there is nothing to replace.
const ANY_SHAPE = /PRIVATE KEY|:\/\/|bearer|basic|sk-|AKIA|ASIA|gh[opsur]_|xox|eyJ/i;

/** The beginning of a text without well-known secrets, also where it is cut in the middle of one: at most `length` characters. */
export const redactBeginning = (text: string, length: number): string => {
  const head = text.slice(0, length);
  const redacted = redactSecrets(head);
  if (text.length <= length || redacted === head) return redacted;
  // It is shorter now, so that what stood at the cut may be seen; half a secret has no shape.
  return redacted.replace(/[^\s"]*$/, '');
};

/** A failure's text without well-known secrets: key shapes, tokens, passwords in URLs. Never applied to a value. */
export const redactSecrets = (text: string): string =>
  ANY_SHAPE.test(text) ? SHAPES.reduce((rest, [shape, instead]) => rest.replace(shape, instead), text) : text;
