import { cutText } from '../../tools/describe-value.ts';
import { redactShapes } from './redact-shapes.ts';

// Of what is cut, this many times the length that stays is read.
const READ = 4;

/**
 * Text cut to `limit` characters. What is cut loses what has the shape of a secret first, for half of one has no shape. Half
 * of a registered value is known by the ellipsis behind it: whoever hands the text on finds it there (`Redactor.text`).
 */
export const cutRedacted = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  const head = text.slice(0, READ * limit);
  const redacted = redactShapes(head);
  if (head.length === text.length || redacted === head) return cutText(redacted, limit);
  // It is shorter now, so that what stood at the cut may be seen.
  return cutText(`${withoutLastWord(redacted)}…`, limit);
};

// Not by an expression: one that looks for a word at the end tries every word before it.
const withoutLastWord = (text: string): string => {
  let end = text.length;
  while (end > 0 && !/[\s"]/.test(text[end - 1] ?? ' ')) end -= 1;
  return text.slice(0, end);
};
