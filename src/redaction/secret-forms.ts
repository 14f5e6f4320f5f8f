import { parseJson } from '../json/parse-json.ts';
import { unescapeBackslashes, unescapePercents } from './unescape-text.ts';

/** Shorter values are not registered: as parts of other words they would wreck every text. */
export const MIN_SECRET_LENGTH = 8;

/**
 * What to look for when a secret value is looked for: the value and each of its parts, each in all its forms, as it is and
 * in Base64, of at least eight characters. Escapes of JSON and URLs are not among them: whoever looks takes them out of the
 * text.
 */
export const toSecretForms = (value: string): readonly (readonly string[])[] => {
  const parts = [value, value.trim(), ...toLines(value), ...toSecretMembers(value)].map((part) => part.toWellFormed());
  const secrets = parts.filter((part) => part.length >= MIN_SECRET_LENGTH);
  return [...new Set(secrets)].map((secret) =>
    [...toReadForms(secret), ...toBase64(secret)].filter((form) => form.length >= MIN_SECRET_LENGTH),
  );
};

// Printed, a private key is so many lines; its first and last are no secret.
const toLines = (value: string): readonly string[] =>
  value.includes('\n')
    ? value.split(/\r?\n/).flatMap((line) => (/^-----.*-----$/.test(line) ? [] : [line.trim()]))
    : [];

const SECRET_MEMBER = /key|secret|token|password|credential/i;

// A file of credentials in a variable: what a tool shows of it is one member, not the whole.
const toSecretMembers = (value: string): readonly string[] => {
  const parsed = /^\s*[{[]/.test(value) ? parseJson(value) : null;
  return parsed?.ok ? findSecretMembers('', parsed.value, MAX_NESTING) : [];
};

// Deeper is no file of credentials.
const MAX_NESTING = 8;

const findSecretMembers = (name: string, value: unknown, levels: number): readonly string[] => {
  if (typeof value === 'string') return SECRET_MEMBER.test(name) ? [value, ...toLines(value)] : [];
  if (typeof value !== 'object' || value === null || levels === 0) return [];
  return Object.entries(value).flatMap(([own, member]: [string, unknown]) =>
    findSecretMembers(Array.isArray(value) ? name : own, member, levels - 1),
  );
};

/** As it is, and what may be left of it when the escapes around it are taken out. */
const toReadForms = (secret: string): readonly string[] => [
  secret,
  // A form writes spaces so, and what parses addresses turns backslashes and leaves out tabs and the ends of lines.
  secret.replaceAll(' ', '+'),
  secret.replaceAll('\\', '/').replace(/[\t\r\n]/g, ''),
  // What looks like an escape itself may have stayed as it is beside what was escaped.
  unescapePercents(secret) ?? secret,
  unescapeBackslashes(secret) ?? secret,
];

/** As it stands in the Base64 of any text around it: wherever it begins in one of three bytes. */
const toBase64 = (secret: string): readonly string[] => {
  const bytes = Buffer.from(secret);
  const texts = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Signs that hold bits of what stands before or behind it too are not its own.
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
  return texts.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
};
