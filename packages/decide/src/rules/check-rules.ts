import { isRecord, memberOf } from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import type { Tool } from 'recourse-server/tools/tool';
import type { Rule } from '../policies/policy-settings.ts';
import { openRule } from './open-rule.ts';

type Checked = Pick<Tool, 'name' | 'inputSchema'>;

/**
 * What rules say that does not fit these tools, one sentence each. `are`: whether there may be other tools, which are known only where the
 * service runs.
 */
export const findRuleMisfits = (
  tools: readonly Checked[],
  rules: readonly Rule[],
  are: 'all' | 'some',
): readonly string[] =>
  rules.flatMap((rule, place) => {
    const { concerns } = openRule(rule, place);
    const own = tools.filter(({ name }) => concerns(name));
    const required = 'requires' in rule ? tools.filter(({ name }) => name === rule.requires.success_of) : [];
    const missing = are === 'all' ? findMissing(rule, own, required) : [];
    const misplaced = [...own, ...required].flatMap((tool) => explainPlaces(tool, rule));
    return [...missing, ...misplaced].map((problem) => `rules: ${rule.name}: ${problem}`);
  });

const findMissing = (rule: Rule, own: readonly Checked[], required: readonly Checked[]): readonly string[] => [
  ...(own.length === 0 ? [`no tool here is called ${rule.tools.join(' or ')}.`] : []),
  ...('requires' in rule && required.length === 0 ? [`no tool here is called ${rule.requires.success_of}.`] : []),
];

const explainPlaces = (tool: Checked, rule: Rule): readonly string[] => {
  const [pointers, type] =
    'requires' in rule ? ([rule.requires.same, 'any'] as const) : ([[rule.sum], 'number'] as const);
  return pointers
    .map((pointer) => (typeof pointer === 'string' ? explainPlace(tool, pointer, type) : null))
    .filter((problem) => problem !== null);
};

/** Why no call of a tool has such an argument there; null: it may. */
const explainPlace = ({ name, inputSchema }: Checked, pointer: string, type: 'any' | 'number'): string | null => {
  const found = findSchema(inputSchema, pointer.slice(1).split('/').map(unescapeStep));
  if (found === null) return `'${name}' has no argument at ${pointer}.`;
  const declared = Array.isArray(found['type']) ? found['type'] : [found['type'] ?? 'number'];
  const isNumber = declared.includes('number') || declared.includes('integer');
  return type === 'any' || isNumber ? null : `the argument of '${name}' at ${pointer} is no number.`;
};

const unescapeStep = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

/** The schema of a member; null: there is no such member. Where a schema does not tell, it is one of anything. */
const findSchema = (schema: JsonSchema, steps: readonly string[]): JsonSchema | null => {
  const [step, ...rest] = steps;
  if (step === undefined) return schema;
  const properties = memberOf(schema, 'properties');
  const member = memberOf(properties, step);
  if (isRecord(member)) return findSchema(member, rest);
  const takesOthers = isRecord(schema['additionalProperties']) || schema['additionalProperties'] === true;
  return properties === undefined || takesOthers ? ANYTHING : null;
};

const ANYTHING: JsonSchema = {};
