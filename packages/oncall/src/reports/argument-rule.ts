import type { JsonSchema } from 'recourse-server/contract/tool-description';
import type { Issue } from 'recourse-server/contract/tool-result';
import { isMissing } from 'recourse-server/tools/argument-issues';
import { namesAt } from 'recourse-server/tools/json-schema';

const MOST_STEPS = 8;
const MAX_RULE = 100;

/**
 * The path and the rule of an issue, in two lines, as a report counts them; null where it names no rule. It is asked for with each failure:
 * the text of a path and rule is made once, and remembered.
 */
export const toRuleKey = (issue: Issue, schema: JsonSchema): string | null => {
  const rule = ruleOf(issue);
  if (rule === null) return null;
  const paths = known.get(schema) ?? new Map<string, Map<string, string>>();
  known.set(schema, paths);
  if (paths.size >= MOST_REMEMBERED) paths.clear();
  const rules = paths.get(issue.path) ?? new Map<string, string>();
  const found = rules.get(rule);
  if (found !== undefined) return found;
  const made = `${foldPath(issue.path, schema).replaceAll('\n', ' ')}\n${rule}`;
  if (issue.path.length <= MOST_REMEMBERED_LENGTH) paths.set(issue.path, rules.set(rule, made));
  return made;
};

// Models make the same mistakes again and again: some 10 µs each.
const MOST_REMEMBERED = 100;
const MOST_REMEMBERED_LENGTH = 200;
const known = new WeakMap<JsonSchema, Map<string, Map<string, string>>>();

/**
 * Where in the arguments an issue is, without what a model wrote: the place in an array is `[]`, a name that the schema does not have
 * is `*`. `lines.[].price`, `labels.*`; '' for the arguments as a whole. Deeper than eight steps it ends with `…`.
 */
const foldPath = (path: string, schema: JsonSchema): string => {
  if (path === '') return '';
  const parts = path.split('.');
  const shown: string[] = [];
  const steps: PropertyKey[] = [];
  for (let from = 0; from < parts.length; ) {
    if (shown.length === MOST_STEPS) return [...shown, '…'].join('.');
    const step = readStep(parts, from, namesAt(schema, steps));
    shown.push(step.shown);
    steps.push(step.key);
    from += step.parts;
  }
  return shown.join('.');
};

type Step = { readonly shown: string; readonly key: PropertyKey; readonly parts: number };

/** A name of the schema may have dots in it: the longest that fits counts. */
const readStep = (parts: readonly string[], from: number, names: readonly string[]): Step => {
  const rest = parts.slice(from).join('.');
  const [name] = names
    .filter((one) => rest === one || rest.startsWith(`${one}.`))
    .toSorted((one, other) => other.length - one.length);
  if (name !== undefined) return { shown: name, key: name, parts: name.split('.').length };
  const part = parts[from] ?? '';
  return /^\d+$/.test(part) ? { shown: '[]', key: Number(part), parts: 1 } : { shown: '*', key: part, parts: 1 };
};

/**
 * The rule of the schema that an issue breaks, in the words that the model reads, without the value; null: the issue only says that
 * there are more. What a tool's author says of a rule may repeat the value, and is not kept.
 */
const ruleOf = (issue: Issue): string | null => {
  const { expected, message } = issue;
  if (expected === '') return null;
  if (isMissing(issue)) return 'required';
  if (expected === 'no such parameter') return 'unknown parameter';
  if (!isOwnMessage(message, expected)) return 'a rule of the tool';
  const rule = expected.startsWith('an array of different items') ? 'an array of different items' : expected;
  return rule.length <= MAX_RULE ? rule : `${rule.slice(0, MAX_RULE - 1)}…`;
};

// Without making a text: this is asked for each failure.
const isOwnMessage = (message: string, expected: string): boolean =>
  message.startsWith(BEFORE) &&
  message.startsWith(expected, BEFORE.length) &&
  message.startsWith(', got ', BEFORE.length + expected.length);

const BEFORE = 'expected ';
