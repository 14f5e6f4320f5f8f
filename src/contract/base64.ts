const QUANTUM = 4;
// What is looked for is a sign that does not belong there: a pattern that takes in the whole text goes back over it sign by sign where V8 no
// longer optimises patterns (many of them in a process), and ends in a RangeError from some megabytes on.
const FOREIGN = /[^A-Za-z0-9+/]/;
const DATA_URL = /^data:[\w.+/;=-]{0,200};base64,/i;

/** Whether a text is base64 as RFC 4648, section 4 has it: padded, without line breaks. */
export const isBase64 = (text: string): boolean => {
  const padding = /={0,2}$/.exec(text.slice(-2))?.[0].length ?? 0;
  return text !== '' && text.length % QUANTUM === 0 && !FOREIGN.test(text.slice(0, text.length - padding));
};

/** Base64 in any of its spellings as RFC 4648, section 4 has it; null for any other text. */
export const toPlainBase64 = (text: string): string | null => {
  if (isBase64(text)) return text;
  // A data URL (RFC 2397), lines (RFC 2045), the alphabet for URLs (RFC 4648, section 5), without padding.
  const lines = text
    .trim()
    .replace(DATA_URL, '')
    .split('\n')
    .map((line) => line.trim());
  if (lines.slice(0, -1).some(({ length }) => length === 0 || length !== lines[0]?.length || length % QUANTUM > 0))
    return null;
  // As many as padding has: a pattern for any number of them tries every sign of a long run.
  const plain = lines
    .join('')
    .replace(/-/g, '+')
    .replace(/_/g, '/')
    .replace(/={1,2}$/, '');
  const padded = plain.padEnd(Math.ceil(plain.length / QUANTUM) * QUANTUM, '=');
  return isBase64(padded) ? padded : null;
};

/** How many bytes plain base64 stands for. */
export const countBase64Bytes = (data: string): number =>
  Math.floor((data.length * 3) / QUANTUM) - (/=*$/.exec(data.slice(-2))?.[0].length ?? 0);
