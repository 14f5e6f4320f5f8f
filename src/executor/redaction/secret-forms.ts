import { parseJson } from '../parse-json.ts';

/** Shorter values are not registered: as parts of other words they would wreck every text. */
export const MIN_SECRET_LENGTH = 8;

/** How a secret value may be written, each at least eight characters long: as it is, escaped, in a URL, in Base64. */
export const toSecretForms = (value: string): readonly string[] => {
  const parts = [value, value.trim(), ...toLines(value), ...toSecretMembers(value)].map((part) => part.toWellFormed());
  const secrets = parts.filter((part) => part.length >= MIN_SECRET_LENGTH);
  return [...new Set(secrets.flatMap((secret) => [...toEscaped(secret), ...toUrlForms(secret), ...toBase64(secret)]))];
};

// Printed, a private key is so many lines; its first and last are no secret.
const toLines = (value: string): readonly string[] =>
  value.includes('\n')
    ? value.split(/\r?\n/).flatMap((line) => (/^-----.*-----$/.test(line) ? [] : [line.trim()]))
    : [];

const SECRET_MEMBER = /key|secret|token|password|credential/i;

// A file of credentials in a variable: what a tool shows of it is one member, not the whole.
const toSecretMembers = (value: string): readonly string[] => {
  if (!value.trimStart().startsWith('{')) return [];
  const parsed = parseJson(value);
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null) return [];
  return Object.entries(parsed.value).flatMap(([name, member]: [string, unknown]) =>
    typeof member === 'string' && SECRET_MEMBER.test(name) ? [member, ...toLines(member)] : [],
  );
};

const toJsonText = (text: string): string => JSON.stringify(text).slice(1, -1);

// As other languages write JSON.
const toAscii = (text: string): string =>
  text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** In JSON, in JSON within JSON, and in what an answer makes of that. */
const toEscaped = (secret: string): readonly string[] => {
  const once = toJsonText(secret);
  return [secret, ...[once, toAscii(once)].flatMap((text) => [text, toJsonText(text), toJsonText(toJsonText(text))])];
};

/** As it stands in a path, in a query, and in a form. */
const toUrlForms = (secret: string): readonly string[] => {
  const component = encodeURIComponent(secret);
  const strict = component.replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = new URLSearchParams({ v: secret }).toString().slice(2);
  const forms = [component, strict, form].flatMap((text) => [
    text,
    text.replaceAll('%20', '+'),
    text.replaceAll('%2F', '/'),
  ]);
  return [...forms, ...forms.map((text) => text.replace(/%[0-9A-F]{2}/g, (sign) => sign.toLowerCase()))];
};

/** As it stands in the Base64 of any text around it: wherever it begins in one of three bytes. */
const toBase64 = (secret: string): readonly string[] => {
  const bytes = Buffer.from(secret);
  const texts = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Signs that hold bits of what stands before or behind it too are not its own.
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
  return texts.flatMap((text) => [
    text,
    text.replaceAll('+', '-').replaceAll('/', '_'),
    encodeURIComponent(text),
    encodeURIComponent(text).replace(/%[0-9A-F]{2}/g, (sign) => sign.toLowerCase()),
  ]);
};
