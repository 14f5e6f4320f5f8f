import { DURATION, readDuration } from 'recourse-server/contract/duration';
import { EFFECTS } from 'recourse-server/contract/failure';
import { createSchemaCheck } from 'recourse-server/tools/schema-check';
import { LONGEST_DURATION_MS } from 'recourse-server/tools/tool';
import { TOOL_PATTERN } from 'recourse-server/tools/tool-override';
import * as z from 'zod';
import { toMillionths } from './millionths.ts';

// What the configuration file says of calls before they run: the sections `rules` and `approvals`.

/** Names and patterns of tools, separated by `|`. */
const Tools = z
  .string()
  .refine((text) => text.split('|').every((part) => TOOL_PATTERN.test(part)), {
    error: 'must be tool names or patterns with *, separated by |',
  })
  .transform((text): readonly string[] => text.split('|'));

const Name = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,63}$/, 'must begin with a lower-case letter, then at most 63 of a to z, 0 to 9, _ and -');
// RFC 6901.
const Pointer = z.string().regex(/^(\/([^/~]|~[01])*)+$/, 'must be a JSON Pointer into the arguments, such as /amount');
const Period = z.string().regex(DURATION, 'must be a duration such as 24h').transform(readDuration);

/** A JSON Schema over the arguments, compiled: whether they fit. */
const When = z.record(z.string(), z.json()).transform((schema, context) => {
  try {
    const { check } = createSchemaCheck({ type: 'object', ...schema }, 'output');
    return (input: unknown): boolean => {
      const checked = check(input);
      return !(checked instanceof Promise) && checked.ok;
    };
  } catch (error) {
    context.addIssue({
      code: 'custom',
      message: `is not a usable JSON Schema: ${error instanceof Error ? error.message : ''}`,
    });
    return z.NEVER;
  }
});

const everyRule = {
  name: Name,
  tools: Tools,
  when: When.optional(),
  message: z.string().min(1).max(500).optional().describe('For the model, in place of standard words'),
  mode: z.enum(['enforce', 'observe']).default('enforce').describe('observe: refuses nothing, counts and warns'),
};

// A window has a sum for each of its minutes.
const Within = Period.refine((ms) => ms <= LONGEST_DURATION_MS, 'must be at most 24h');

const Requirement = z.strictObject({
  ...everyRule,
  requires: z.strictObject({
    success_of: z.string().min(1),
    same: z.array(Pointer).max(8).default([]).describe('Arguments that must be equal in both calls'),
    within: Within.optional(),
  }),
});

const isExact = (value: number): boolean => toMillionths(value) !== null;
const INEXACT = 'must be a number of 0 or more, below 1e21, with at most six decimals';

const Cap = z
  .strictObject({
    ...everyRule,
    sum: z
      .union([Pointer, z.number().positive().refine(isExact, INEXACT)])
      .describe('Pointer to a number in the arguments; 1 counts calls'),
    max: z.number().refine(isExact, INEXACT),
    per: z.enum(['session', 'tenant', 'key']).default('session'),
    window: Within.optional(),
  })
  .refine(({ per, window }) => per === 'session' || window !== undefined, {
    path: ['window'],
    error: 'is required for tenant and key',
  });

export const RULES = z
  .array(z.union([Requirement, Cap]))
  .max(100)
  .superRefine((rules, context) => {
    const seen = new Set<string>();
    for (const [place, { name }] of rules.entries()) {
      if (seen.has(name))
        context.addIssue({ code: 'custom', path: [place, 'name'], message: 'is the name of a rule above' });
      seen.add(name);
    }
  })
  .default([])
  .describe('What must be so before a call runs: an earlier success, a sum or a count that is not full');
export type Rule = z.output<typeof RULES>[number];
export type CapRule = z.output<typeof Cap>;
export type RequirementRule = z.output<typeof Requirement>;

const DECISIONS = ['allow', 'ask', 'deny'] as const;
export type ApprovalChoice = (typeof DECISIONS)[number];

const ApprovalRule = z.strictObject({
  tools: Tools,
  when: When.optional(),
  decide: z.enum(DECISIONS),
  by: z
    .array(z.enum(['operator', 'requester']))
    .min(1)
    .default(['operator']),
  four_eyes: z.boolean().default(false).describe('true: not by the key that called'),
  expires: Period.refine((ms) => ms >= 1000 && ms <= LONGEST_DURATION_MS, 'must be from 1s to 24h').default(
    30 * 60_000,
  ),
  edit: z.boolean().default(false).describe('true: who decides may change the arguments'),
  summary: z.string().min(1).max(500).optional().describe('For people, with {/POINTER} into the arguments'),
});
export type ApprovalRule = z.output<typeof ApprovalRule>;

/** Where people see an approval; `{id}` is its id, wherever it stands. Callers read it: it holds no password. */
const ApprovalUrl = z
  .string()
  .max(1000)
  .refine((url) => isPage(url), {
    error: 'must be a whole http or https URL with {id} in it, such as https://tools.example/console#approvals={id}',
  });

const isPage = (url: string): boolean => {
  const { protocol = '', username, password } = URL.parse(url) ?? {};
  return /^https?:$/.test(protocol) && `${username}${password}` === '' && url.includes('{id}');
};

export const APPROVALS = z
  .strictObject({
    url: ApprovalUrl.optional().describe('Where people decide: a URL with {id}; callers get it with each approval'),
    default: z.partialRecord(z.enum(EFFECTS), z.enum(DECISIONS)).default({}).describe('By effects; left out: allow'),
    rules: z.array(ApprovalRule).max(200).default([]).describe('The first that matches decides'),
  })
  .default({ default: {}, rules: [] })
  .describe('Which calls a person has to approve');
export type ApprovalSettings = z.output<typeof APPROVALS>;
