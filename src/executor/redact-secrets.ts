/** Well-known shapes of secrets and what stays of them. */
const SHAPES: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, '[redacted private key]'],
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*:[^\s/@]+@/gi, '$1[redacted]@'],
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, '$1 [redacted]'],
  [/\bsk-[A-Za-z0-9_-]{16,}/g, '[redacted key]'],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, '[redacted key]'],
  [/\bgh[opsur]_[A-Za-z0-9]{30,}/g, '[redacted key]'],
  [/\bxox[abposr]-[A-Za-z0-9-]{10,}/g, '[redacted key]'],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, '[redacted token]'],
];

// One look decides for almost every text that there is nothing to replace.
const ANY_SHAPE = /PRIVATE KEY|:\/\/|bearer|basic|sk-|AKIA|ASIA|gh[opsur]_|xox|eyJ/i;

/** A failure's text without well-known secrets: key shapes, tokens, passwords in URLs. Never applied to a value. */
export const redactSecrets = (text: string): string =>
  ANY_SHAPE.test(text) ? SHAPES.reduce((rest, [shape, instead]) => rest.replace(shape, instead), text) : text;
