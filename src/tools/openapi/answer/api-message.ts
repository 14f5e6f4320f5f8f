import { showText } from '../../http/show-url.ts';
import { isRecord, type JsonRecord, listAt, recordAt, textAt } from '../document/json-record.ts';

const MOST_SHOWN = 600;
const MOST_ERRORS = 5;
// In the order in which they say most.
const TEXTS = [
  'detail',
  'message',
  'error_description',
  'errorMessage',
  'error_message',
  'description',
  'reason',
  'err',
  'msg',
];
const PLACES = ['field', 'path', 'param', 'parameter', 'pointer', 'name', 'location', 'property'];
const WORDS = ['message', 'detail', 'msg', 'title', 'description', 'reason', 'code', 'error', 'type'];

/**
 * What an API says is wrong, as one line: RFC 9457 (`title`, `detail`), `message`, `error`, `error.message`, and the
 * entries of `errors` and `detail`; of other text its beginning; null where it says nothing. HTML says nothing.
 */
export const toApiMessage = (body: unknown): string | null => {
  const text = typeof body === 'string' ? plainTextOf(body) : isRecord(body) ? toText(body) : toListText(body);
  return text === '' ? null : showText(text.replace(/\s+/g, ' ').trim(), MOST_SHOWN);
};

const plainTextOf = (body: string): string => (/^\s*</.test(body) ? '' : body.trim());

const toText = (body: JsonRecord): string => {
  const inner = recordAt(body, 'error');
  const sources = [body, inner, recordAt(body, 'fault'), recordAt(body, 'meta')];
  const main = sources.map(mainOf).find((text) => text !== '') ?? textAt(body, 'error') ?? textAt(body, 'title') ?? '';
  const title = textAt(body, 'title');
  const headed = title !== undefined && title !== main && 'detail' in body ? `${title}: ${main}` : main;
  const details = [
    ...new Set(
      [body, inner].flatMap((one) => [
        ...entriesOf(one, 'errors'),
        ...entriesOf(one, 'detail'),
        ...entriesOf(one, 'details'),
        ...entriesOf(one, 'issues'),
      ]),
    ),
  ].filter((detail) => detail !== main);
  return [headed, details.slice(0, MOST_ERRORS).join('; ')].filter((part) => part !== '').join(': ');
};

const mainOf = (body: JsonRecord): string => {
  for (const name of TEXTS) {
    const text = textAt(body, name);
    if (text !== undefined) return text;
  }
  return textAt(body, 'faultstring') ?? '';
};

const toListText = (body: unknown): string =>
  Array.isArray(body)
    ? body
        .slice(0, MOST_ERRORS)
        .map(toEntry)
        .filter((text) => text !== '')
        .join('; ')
    : '';

/** `errors: [{field, message}]`, `errors: ["…"]` and `errors: {field: ["…"]}`. */
const entriesOf = (body: JsonRecord, name: string): readonly string[] => {
  const list = listAt(body, name);
  const named = Object.entries(recordAt(body, name)).map(([field, value]) => {
    const texts = [value].flat().filter((item) => typeof item === 'string');
    return texts.length === 0 ? '' : `${field}: ${texts.join(', ')}`;
  });
  return [...list.map(toEntry), ...named].filter((text) => text !== '');
};

const toEntry = (entry: unknown): string => {
  if (typeof entry === 'string') return entry;
  if (!isRecord(entry)) return '';
  const location = listAt(entry, 'loc')
    .filter((step) => typeof step === 'string' || typeof step === 'number')
    .join('.');
  const place = location || firstText(entry, PLACES) || textAt(recordAt(entry, 'source'), 'pointer') || '';
  const words = firstText(entry, WORDS);
  return [place, words].filter((part) => part !== '').join(': ');
};

const firstText = (entry: JsonRecord, names: readonly string[]): string => {
  const found = names.map((name) => textAt(entry, name)).find((text) => text !== undefined);
  return found ?? '';
};
