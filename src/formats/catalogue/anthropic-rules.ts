import { isSimplePattern } from './simple-pattern.ts';
import type { StrictRules } from './strict-schema.ts';

const FORMATS: ReadonlySet<unknown> = new Set([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'],
]);

/** Anthropic's strict tool use: the JSON Schema limitations of its structured outputs (platform.claude.com). */
export const ANTHROPIC_RULES: StrictRules = {
  kept: { '*': ['title'], string: ['pattern', 'format'], array: ['minItems'] },
  takes: (keyword, value) => {
    if (keyword === 'format') return FORMATS.has(value);
    if (keyword === 'minItems') return value === 0 || value === 1;
    return keyword !== 'pattern' || isSimplePattern(value);
  },
  optional: 'left out',
  recursion: 'refused',
  fits: () => true,
};
