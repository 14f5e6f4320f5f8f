import type { JsonSchema } from '../../contract/tool-description.ts';
import { measureSchema } from './measure-schema.ts';
import { isSimplePattern } from './simple-pattern.ts';
import type { StrictRules } from './strict-schema.ts';

const FORMATS: ReadonlySet<unknown> = new Set([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'],
]);

const NUMBER = ['multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'];

/** OpenAI's Structured Outputs: the supported schemas of its guide (platform.openai.com, structured outputs). */
export const OPENAI_RULES: StrictRules = {
  kept: {
    '*': ['title'],
    string: ['pattern', 'format'],
    number: NUMBER,
    integer: NUMBER,
    array: ['minItems', 'maxItems'],
  },
  takes: (keyword, value) => {
    if (keyword === 'format') return FORMATS.has(value);
    return keyword !== 'pattern' || isSimplePattern(value);
  },
  optional: 'nullable',
  recursion: 'allowed',
  fits: (schema: JsonSchema) => {
    const { depth, properties, enumValues, namesLength } = measureSchema(schema);
    return depth <= 10 && properties <= 5000 && enumValues <= 1000 && namesLength <= 120_000;
  },
};
