import { skipString } from '../json-text.ts';
import { parseJson } from '../parse-json.ts';

/**
 * A JSON text whose strings, keys included, and numbers went through `redact`. All else of it stays as it is written: large
 * numbers, the order and repetition of keys. What it gives is JSON again, whatever was replaced.
 */
export const redactJson = (json: string, redact: (text: string) => string): string => {
  const tokens = /"|-?\d[\d.eE+-]*/g;
  let redacted = '';
  let from = 0;
  for (let token = tokens.exec(json); token !== null; token = tokens.exec(json)) {
    const { index: start } = token;
    const isString = token[0] === '"';
    if (isString) tokens.lastIndex = skipString(json, start + 1);
    const written = json.slice(start, tokens.lastIndex);
    const instead = isString ? redactString(written, redact) : redactNumber(written, redact);
    if (instead === written) continue;
    redacted += `${json.slice(from, start)}${instead}`;
    from = tokens.lastIndex;
  }
  return redacted + json.slice(from);
};

const redactString = (written: string, redact: (text: string) => string): string => {
  const parsed = parseJson(written);
  const text = parsed.ok && typeof parsed.value === 'string' ? parsed.value : written;
  const redacted = redact(text);
  return redacted === text ? written : JSON.stringify(redacted);
};

// What stays of a number with a secret in it is no number any more.
const redactNumber = (written: string, redact: (text: string) => string): string => {
  const redacted = redact(written);
  return redacted === written ? written : JSON.stringify(redacted);
};
