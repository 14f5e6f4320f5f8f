import { isRecord, type JsonRecord, memberOf, recordAt, textAt } from 'recourse-server/contract/json-record';
import { cutText } from 'recourse-server/tools/describe-value';
import type { DocumentedOperation } from './operations.ts';
import { followReferences } from './references.ts';

// Tags of HTML that documents use; what else stands in angle brackets is a placeholder of theirs.
const TAGS =
  /<\/?(?:a|abbr|b|blockquote|br|code|dd|details|div|dl|dt|em|font|h[1-6]|hr|i|img|kbd|li|ol|p|pre|s|section|small|span|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|u|ul|var)(?:\s[^<>]*)?\/?>/gi;
const COMMENTS = /<!--[\s\S]{0,4000}?-->/g;
// Between words that stand in lines of their own.
const BREAKS = /^(?:blockquote|br|d[dlt]|details|div|h[1-6r]|li|ol|p|pre|section|summary|table|t[dhr]|ul)$/;
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ...Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', mdash: '—', ndash: '–' }),
  ...Object.entries({ hellip: '…', rsquo: '’', lsquo: '‘', rdquo: '”', ldquo: '“', copy: '©', times: '×', bull: '•' }),
]);

/** What a document says, as text for a model: without tags of HTML and its entities. Markdown stays as it is. */
export const toPlainText = (text: string): string => {
  if (!/[<&]/.test(text)) return text.trim();
  const withoutTags = text.replace(COMMENTS, ' ').replace(TAGS, (tag) => {
    const name = /[a-z][a-z0-9]*/i.exec(tag)?.[0].toLowerCase() ?? '';
    return BREAKS.test(name) ? '\n' : '';
  });
  return withoutTags
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, toCharacter)
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n[\s]*/g, '\n')
    .trim();
};

const toCharacter = (entity: string, decimal?: string, hex?: string, name?: string): string => {
  if (name !== undefined) return ENTITIES.get(name) ?? entity;
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  const isCharacter = code >= 32 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : entity;
};

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
  const description = beginningAt(source, 'description');
  const answer = [describeAnswer(root, source), note].filter((part) => part !== '').join(' ');
  const parts = [
    source['deprecated'] === true ? 'Deprecated.' : '',
    withoutEnd(description).startsWith(withoutEnd(summary)) ? '' : endSentence(summary),
    cutSentence(description, MOST_CHARACTERS - summary.length - answer.length - 20),
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
  if (schema['type'] !== 'array') return describeMembers(schema, 'an object', 'of type') ?? 'an object';
  const items = memberOf(schema, 'items');
  const item = isRecord(items) ? describeMembers(followReferences(root, items), 'objects', 'values of type') : null;
  return `a list of ${item ?? 'values'}`;
};

const describeMembers = (schema: JsonRecord, objects: string, ofType: string): string | null => {
  const names = Object.keys(recordAt(schema, 'properties'));
  if (names.length > 0) return `${objects} with ${listNames(names)}`;
  return typeof schema['type'] === 'string' ? `${ofType} ${schema['type']}` : null;
};

const listNames = (names: readonly string[]): string =>
  names.length > MOST_MEMBERS ? `${names.slice(0, MOST_MEMBERS).join(', ')}, …` : names.join(', ');
