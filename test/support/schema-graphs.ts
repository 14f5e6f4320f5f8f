import fc from 'fast-check';
import type { JsonSchema } from '#src/contract/tool-description.ts';

type Leaf = Readonly<Record<string, unknown>>;
const referTo = (name: string): Leaf => ({ $ref: `#/$defs/${name}` });

/** Definitions in levels, each of which refers to the next one by `fan` equal references: fan^levels ways to the last. */
export const toLevels = (
  levels: number,
  write: (references: readonly Leaf[], level: number) => Leaf,
  { fan = 5, last = { type: 'string' } }: { readonly fan?: number; readonly last?: Leaf } = {},
): JsonSchema => ({
  type: 'object',
  properties: { it: referTo('d0') },
  additionalProperties: false,
  $defs: Object.fromEntries(
    Array.from({ length: levels + 1 }, (_, level) => [
      `d${level}`,
      level === levels
        ? last
        : write(
            Array.from({ length: fan }, () => referTo(`d${level + 1}`)),
            level,
          ),
    ]),
  ),
});

const toMembers = (references: readonly Leaf[]): Leaf => ({
  type: 'object',
  properties: Object.fromEntries(references.map((reference, place) => [`p${place}`, reference])),
  additionalProperties: false,
});

const nest = (levels: number, wrap: (inner: Leaf) => Leaf): Leaf => {
  let inner: Leaf = { type: 'string' };
  for (let level = 0; level < levels; level += 1) inner = wrap(inner);
  return inner;
};

const inRoot = (word: string, schema: JsonSchema): JsonSchema => ({
  type: 'object',
  [word]: [referTo('d0'), referTo('d0')],
  $defs: schema['$defs'],
});

const LAST_OBJECT = { last: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } };

/** Schemas of a few kilobytes, and some larger, that stop whoever follows each way through them. */
export const HOSTILE_SCHEMAS: readonly (readonly [what: string, schema: JsonSchema])[] = [
  ...['anyOf', 'oneOf', 'allOf'].flatMap((word) => {
    const levels = toLevels(60, (references) => ({ [word]: references }));
    const objects = toLevels(60, (references) => ({ [word]: references }), LAST_OBJECT);
    const named = toLevels(
      60,
      (references, level) => ({ [word]: references, properties: { [`p${level}`]: {} }, required: [`p${level}`] }),
      LAST_OBJECT,
    );
    return [
      [`${word} over 60 levels`, levels],
      [`${word} over 60 levels at the root`, inRoot(word, objects)],
      [`${word} over 60 levels of objects at the root`, inRoot(word, named)],
      [
        `${word} in circles`,
        toLevels(60, (references) => ({ [word]: references }), {
          last: { [word]: ['d0', 'd30', 'd59'].map(referTo) },
        }),
      ],
      [
        `${word} nested 5 000 deep`,
        { type: 'object', properties: { it: nest(5_000, (inner) => ({ [word]: [inner] })) } },
      ],
      [`${word} nested 5 000 deep at the root`, { type: 'object', ...nest(5_000, (inner) => ({ [word]: [inner] })) }],
      [
        `5 000 definitions in a chain by ${word}`,
        toLevels(5_000, (references) => ({ [word]: references }), { fan: 1 }),
      ],
      [
        `a wide ${word} at the root`,
        {
          type: 'object',
          [word]: Array.from({ length: 10_000 }, (_, place) => ({
            properties: { [`p${place}`]: {} },
            required: ['same', `p${place}`],
          })),
        },
      ],
    ] as const;
  }),
  ['properties over 60 levels', toLevels(60, toMembers)],
  ['properties in circles', toLevels(60, toMembers, { last: toMembers(['d0', 'd30', 'd59'].map(referTo)) })],
  ['properties nested 5 000 deep', nest(5_000, (inner) => ({ type: 'object', properties: { in: inner } }))],
  ['5 000 definitions in a chain of properties', toLevels(5_000, toMembers, { fan: 1 })],
  ['5 000 definitions in one circle', toLevels(5_000, toMembers, { fan: 1, last: toMembers([referTo('d0')]) })],
  [
    'items nested 5 000 deep',
    { type: 'object', properties: { it: nest(5_000, (items) => ({ type: 'array', items })) } },
  ],
  [
    '20 000 required properties',
    {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, place) => [`p${place}`, { type: 'string' }])),
      required: Array.from({ length: 20_000 }, (_, place) => `p${20_000 - place}`),
    },
  ],
  [
    'a million parts',
    {
      type: 'object',
      properties: { it: { anyOf: Array.from({ length: 1_000_000 }, () => ({ type: 'string' })) } },
    },
  ],
  [
    'a literal list of 300 000 values',
    { type: 'object', properties: { it: { enum: Array.from({ length: 300_000 }, (_, place) => place) } } },
  ],
];

const NAMES = ['a', 'b', 'c', 'd'] as const;

/** Small graphs of definitions that refer to each other in all ways, circles among them. */
export const SCHEMA_GRAPHS: fc.Arbitrary<JsonSchema> = fc
  .array(
    fc.oneof(
      fc.constantFrom<Leaf>({}, { type: 'string' }, { type: 'null' }, { enum: ['x', null] }, { const: 'x' }),
      fc
        .tuple(
          fc.constantFrom('anyOf', 'oneOf', 'allOf'),
          fc.array(fc.oneof(fc.constantFrom(...NAMES).map(referTo), fc.boolean(), fc.constant({ type: 'string' })), {
            minLength: 1,
            maxLength: 3,
          }),
        )
        .map(([word, parts]) => ({ [word]: parts })),
      fc.constantFrom(...NAMES).map(referTo),
    ),
    { minLength: NAMES.length, maxLength: NAMES.length },
  )
  .map((schemas) => ({ $defs: Object.fromEntries(schemas.map((schema, place) => [NAMES[place] ?? '', schema])) }));
