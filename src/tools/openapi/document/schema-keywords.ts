import type { JsonSchema } from '../../../contract/tool-description.ts';
import { type JsonRecord, listAt, textAt, textsAt } from './json-record.ts';
import type { OpenApiDocument } from './openapi-document.ts';
import { toPlainText } from './plain-text.ts';
import { sizeOf } from './value-size.ts';

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
// Those that are checked here; others (`sha1`, `markdown`) say nothing that a validator knows.
const FORMATS: ReadonlySet<unknown> = new Set([
  ...['date-time', 'date', 'time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uri-reference', 'uuid'],
  ...['int32', 'int64', 'float', 'double', 'byte', 'password', 'json-pointer', 'regex'],
]);
const COUNTS = [
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'],
  ...['minContains', 'maxContains'],
];
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const LONGEST_EXAMPLE = 200;
const MOST_OF_EXAMPLE = { values: LONGEST_EXAMPLE, characters: LONGEST_EXAMPLE };

/**
 * The words of a schema that hold no schemas, those alone that are well-formed: a validator refuses the whole schema
 * for one that is not.
 */
export const toPlainKeywords = (
  source: JsonRecord,
  schemas: OpenApiDocument['schemas'],
  readOnly: ReadonlySet<string>,
): JsonSchema =>
  Object.fromEntries(
    // A map first: of two entries for one word the later counts, also where it takes the word away.
    [
      ...new Map([
        ...toTypeWords(source),
        ...toTextWords(source),
        ...toNumberWords(source, schemas),
        ...toValueWords(source),
        ...toObjectWords(source, readOnly),
      ]),
    ].filter(([, value]) => value !== undefined),
  );

type Word = readonly [string, unknown];

const toTypeWords = (source: JsonRecord): readonly Word[] => {
  const types = [...new Set([source['type']].flat())].filter((type) => TYPES.has(type));
  // The format is called `uri`; documents that call it `url` are many.
  const format = source['format'] === 'url' ? 'uri' : source['format'];
  return [
    ['type', types.length > 1 ? types : types[0]],
    ['format', FORMATS.has(format) ? format : undefined],
  ];
};

const toTextWords = (source: JsonRecord): readonly Word[] => {
  const description = toTextAt(source, 'description');
  const pattern = toPattern(textAt(source, 'pattern'));
  return [
    ['title', description === undefined ? toTextAt(source, 'title') : undefined],
    ['description', description],
    ['pattern', pattern !== undefined && isRegularExpression(pattern) ? pattern : undefined],
    ['deprecated', source['deprecated'] === true ? true : undefined],
  ];
};

const toTextAt = (source: JsonRecord, name: string): string | undefined => {
  const text = toPlainText(textAt(source, name) ?? '');
  return text === '' ? undefined : text;
};

/**
 * `/^a$/` is the literal of a language: as an expression it fits no text at all, since nothing stands before a beginning.
 * What is between the slashes is meant; with flags that JSON Schema cannot say the API alone judges.
 */
const toPattern = (pattern: string | undefined): string | undefined => {
  const [, expression, flags] = /^\/(\^.*\$)\/([a-z]*)$/s.exec(pattern ?? '') ?? [];
  const plain = expression === undefined || /^[gu]*$/.test(flags ?? '') ? (expression ?? pattern) : undefined;
  return plain === undefined || isRegularExpression(plain) ? plain : withoutNeedlessEscapes(plain);
};

// With the validator's flag, `u`, signs that mean nothing else must not be escaped, and a dash only within `[]`.
const withoutNeedlessEscapes = (pattern: string): string =>
  pattern.replace(/\\(.)/gs, (escaped, sign: string) => {
    if (sign === '-') return '\\x2d';
    return /[\^$\\.*+?()[\]{}|/A-Za-z0-9]/.test(sign) ? escaped : sign;
  });

// With the flag that the validator uses.
const isRegularExpression = (pattern: string): boolean => {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return false;
    throw thrown;
  }
};

const toNumberWords = (source: JsonRecord, schemas: OpenApiDocument['schemas']): readonly Word[] => {
  const numbers = NUMBERS.map((word): Word => [word, toNumber(source[word])]);
  const counts = COUNTS.map((word): Word => [word, isCount(source[word]) ? source[word] : undefined]);
  const step = toNumber(source['multipleOf']);
  const words: readonly Word[] = [
    ...numbers,
    ...counts,
    ['multipleOf', step !== undefined && step > 0 ? step : undefined],
  ];
  if (schemas === 'json_schema') return words;
  // In 3.0 a flag says that the bound itself is outside.
  return [
    ...words,
    ...(source['exclusiveMinimum'] === true ? toExclusive('exclusiveMinimum', 'minimum', source) : []),
    ...(source['exclusiveMaximum'] === true ? toExclusive('exclusiveMaximum', 'maximum', source) : []),
  ];
};

const toExclusive = (word: string, bound: string, source: JsonRecord): readonly Word[] => [
  [word, toNumber(source[bound])],
  [bound, undefined],
];

const toNumber = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

const toValueWords = (source: JsonRecord): readonly Word[] => {
  const values = listAt(source, 'enum');
  const examples = [...listAt(source, 'examples'), ...('example' in source ? [source['example']] : [])];
  const [example] = examples.filter(
    (value) =>
      sizeOf(value, MOST_OF_EXAMPLE) !== null && (JSON.stringify(value)?.length ?? Infinity) <= LONGEST_EXAMPLE,
  );
  return [
    [
      'enum',
      values.length > 0 ? [...new Map(values.map((value) => [JSON.stringify(value), value])).values()] : undefined,
    ],
    ['const', source['const']],
    ['default', source['default']],
    ['examples', example === undefined ? undefined : [example]],
    ['uniqueItems', source['uniqueItems'] === true ? true : undefined],
  ];
};

const toObjectWords = (source: JsonRecord, readOnly: ReadonlySet<string>): readonly Word[] => {
  const required = [...new Set(textsAt(source, 'required'))].filter((name) => !readOnly.has(name));
  return [['required', required.length > 0 ? required : undefined]];
};
