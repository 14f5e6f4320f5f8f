import type { CallToDecide } from 'recourse-server/executor/policies';
import { toCanonicalText, toDigest } from 'recourse-server/json/canonical-text';
import { readPointer, valueAt } from 'recourse-server/tools/argument-issues';
import { toMillionths } from '../policies/millionths.ts';
import type { CapRule, RequirementRule, Rule } from '../policies/policy-settings.ts';
import { type CountTerms, NO_WINDOW_MS } from './rule-decisions.ts';

type Input = CallToDecide['input'];
type Scoped = Pick<CallToDecide, 'tenant' | 'sessionKey' | 'key'>;

type Common = {
  readonly name: string;
  /** In the configuration file. */
  readonly place: number;
  readonly isEnforced: boolean;
  /** The rule's own words for the model; null: it has none. */
  readonly message: string | null;
  readonly concerns: (tool: string) => boolean;
  /** Whether it says anything of a call with these arguments. */
  readonly applies: (input: Input) => boolean;
};

/** A rule that counts. */
export type Cap = Common & {
  readonly kind: 'cap';
  readonly per: CapRule['per'];
  /** Where the amount is; null: each call counts the same. */
  readonly pointer: string | null;
  readonly terms: CountTerms;
  /** In millionths; null: its arguments have no such number. */
  readonly amountOf: (input: Input) => bigint | null;
  /** Names the record of what it has counted for such a call; null: it lacks a session. */
  readonly keyOf: (scoped: Scoped) => string | null;
};

/** A rule that asks for an earlier success. */
export type Requirement = Common & {
  readonly kind: 'requirement';
  readonly successOf: string;
  readonly withinMs: number;
  readonly keyOf: (scoped: Scoped) => string | null;
  /** What the arguments of both calls must have in common, as 64 hex digits: values are not kept. */
  readonly digestOf: (key: string, input: Input) => string;
};

export type OpenRule = Cap | Requirement;

/** Makes of a rule of the configuration file what is asked at each call. */
export const openRule = (rule: Rule, place: number): OpenRule =>
  'requires' in rule ? openRequirement(rule, place) : openCap(rule, place);

const openCommon = ({ name, mode, message, tools, when }: Rule, place: number): Common => {
  const pattern = new RegExp(`^(?:${tools.map(toPatternSource).join('|')})$`);
  return {
    ...{ name, place, isEnforced: mode === 'enforce', message: message ?? null, applies: when ?? always },
    concerns: (tool) => pattern.test(tool),
  };
};

const always = (): boolean => true;

const toPatternSource = (tools: string): string => tools.replaceAll('.', '\\.').replaceAll('*', '.*');

const openCap = (rule: CapRule, place: number): Cap => {
  const { name, per, sum, max, window: windowMs = null } = rule;
  const common = openCommon(rule, place);
  const constant = typeof sum === 'number' ? toMillionths(sum) : null;
  return {
    ...{ ...common, kind: 'cap', per, pointer: typeof sum === 'string' ? sum : null },
    terms: { windowMs, max: toMillionths(max) ?? 0n, isEnforced: common.isEnforced },
    amountOf: (input) => (typeof sum === 'number' ? constant : toMillionths(valueIn(input, sum))),
    keyOf: createKeyOf(name, per),
  };
};

const openRequirement = (rule: RequirementRule, place: number): Requirement => {
  const { success_of: successOf, same, within = NO_WINDOW_MS } = rule.requires;
  return {
    ...{ ...openCommon(rule, place), kind: 'requirement', successOf, withinMs: within },
    keyOf: createKeyOf(rule.name, 'session'),
    digestOf: (key, input) => {
      // What is missing is not what is null.
      const values = same
        .map((pointer) => valueIn(input, pointer))
        .map((value) => (value === undefined ? [] : [value]));
      return toDigest(`${key}\n${toCanonicalText(values)}`);
    },
  };
};

const valueIn = (input: Input, pointer: string): unknown => valueAt(input, readPointer(pointer, input));

/** Names of records: what is counted for, within its tenant, and a digest of the rule. */
const createKeyOf = (name: string, per: CapRule['per']): Cap['keyOf'] => {
  const rule = toDigest(JSON.stringify(['recourse-rule-1', name, per])).slice(0, 32);
  return ({ tenant, sessionKey, key }) => {
    if (per === 'tenant') return `${tenant}:${rule}`;
    if (per === 'key') return `${tenant}:${toDigest(key ?? '')}.${rule}`;
    return sessionKey === null ? null : `${sessionKey}.${rule}`;
  };
};
