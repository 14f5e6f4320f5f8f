import { cutText } from '../../describe-value.ts';
import { isRecord, type JsonRecord, memberOf, recordAt, textAt } from '../document/json-record.ts';
import { toPlainText } from '../document/plain-text.ts';
import { followReferences } from '../document/references.ts';
import type { DocumentedOperation } from './list-operations.ts';

// OpenAI takes 1 024 characters of description.
const MOST_CHARACTERS = 1_000;
const MOST_OF_ANSWER = 300;
const MOST_MEMBERS = 12;

/**
 * For the model: what the document says of the operation, as text, cut at the end of a sentence, what the answer is, and
 * a `note`.
 */
export const describeOperation = (
  root: JsonRecord,
  { source, method, path }: DocumentedOperation,
  note: string,
): string => {
  const summary = beginningAt(source, 'summary');
  const told = beginningAt(source, 'description');
  const answer = [describeAnswer(root, source), note].filter((part) => part !== '').join(' ');
  const parts = [
    source['deprecated'] === true ? 'Deprecated.' : '',
    withoutEnd(told).startsWith(withoutEnd(summary)) ? '' : endSentence(summary),
    cutSentence(told, MOST_CHARACTERS - summary.length - answer.length - 20),
  ].filter((part) => /[\p{L}\p{N}]/u.test(part));
  const text = parts.length > 0 ? parts.join(' ') : `${method.toUpperCase()} ${path}`;
  return cutText(answer === '' ? text : `${endSentence(text)}\n${answer}`, MOST_CHARACTERS);
};

// Of megabytes, for each of five thousand operations, no more is read than may be shown.
const beginningAt = (source: JsonRecord, name: string): string =>
  toPlainText(textAt(source, name)?.slice(0, 4 * MOST_CHARACTERS) ?? '')
    .replace(/\s+/g, ' ')
    // A dot that ends nothing.
    .replace(/^(?:[.,;:] )+|(?<=[.!?…:])(?: \.)+(?= |$)/g, '')
    .replace(/ \.(?= |$)/g, '.')
    .trim();

const withoutEnd = (text: string): string => text.replace(/[\s.!?…:]+$/, '');

const endSentence = (text: string): string => {
  const trimmed = text.trimEnd();
  return trimmed === '' || /[.!?…:](["'’”)\]`*_]*)$/.test(trimmed) ? trimmed : `${trimmed}.`;
};

const cutSentence = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  const end = text.lastIndexOf('. ', limit - 2);
  return end > limit / 2 ? `${text.slice(0, end + 1)} …` : cutText(text, Math.max(limit, 1));
};

/** The first answer that is a success: `Returns JSON: a list of objects with id, name, …`. */
const describeAnswer = (root: JsonRecord, source: JsonRecord): string => {
  const success = Object.entries(recordAt(source, 'responses')).find(([status]) => /^2/.test(status));
  if (success === undefined) return '';
  const response = followReferences(root, success[1]);
  const [media, content] = Object.entries(recordAt(response, 'content'))[0] ?? [];
  if (media === undefined) return '';
  if (!/json/i.test(media)) return `Returns ${media.slice(0, 60)}.`;
  return cutText(
    `Returns JSON: ${describeShape(root, isRecord(content) ? content['schema'] : undefined)}.`,
    MOST_OF_ANSWER,
  );
};

const describeShape = (root: JsonRecord, source: unknown): string => {
  if (!isRecord(source)) return 'any value';
  const schema = followReferences(root, source);
  if (schema['type'] === 'array') {
    const items = memberOf(schema, 'items');
    return `a list of ${isRecord(items) ? describeItem(root, items) : 'values'}`;
  }
  const names = Object.keys(recordAt(schema, 'properties'));
  if (names.length > 0) return `an object with ${listNames(names)}`;
  return typeof schema['type'] === 'string' ? `of type ${schema['type']}` : 'an object';
};

const describeItem = (root: JsonRecord, items: JsonRecord): string => {
  const schema = followReferences(root, items);
  const names = Object.keys(recordAt(schema, 'properties'));
  if (names.length > 0) return `objects with ${listNames(names)}`;
  return typeof schema['type'] === 'string' ? `values of type ${schema['type']}` : 'values';
};

const listNames = (names: readonly string[]): string =>
  names.length > MOST_MEMBERS ? `${names.slice(0, MOST_MEMBERS).join(', ')}, …` : names.join(', ');
