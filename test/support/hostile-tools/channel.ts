import { closeSync } from 'node:fs';
import { defineTool, type ToolContext, z } from 'recourse-server';
import { CHANNEL, overhearNonce, SUCCESS, toFrame, writeAll } from './channel-access.ts';

const NEVER = new Promise<never>(() => undefined);

const forging = (name: string, run: (context: ToolContext) => unknown, effects: 'read' | 'write' = 'read') =>
  defineTool({
    name,
    description: 'Meddles with the line to the service.',
    effects,
    timeoutMs: 2_000,
    input: z.object({}),
    run: (_, context) => run(context),
  });

const nonceOf = ({ log }: ToolContext): string => overhearNonce(() => log.info('anything'));

const answer = (nonce: string, body: string, end: object = SUCCESS): void =>
  writeAll(CHANNEL, toFrame({ type: 'answer', nonce, end }, body));

const failure = (members: object) => ({
  kind: 'failure',
  code: 'tool_exception',
  message: 'forged',
  type: 'Error',
  hint: null,
  issues: [],
  retryAfterMs: null,
  fatal: false,
  outcome: 'retry',
  executed: 'yes',
  thrown: [],
  ...members,
});

export const tools = [
  forging('guesses_a_nonce', () => {
    answer('0e0e0e0e-0000-4000-8000-000000000000', '"forged"');
    return 'genuine';
  }),
  forging('answers_three_times', (context) => {
    const nonce = nonceOf(context);
    answer(nonce, '"first"');
    answer(nonce, '"second"');
    return 'third';
  }),
  forging('answers_with_no_json', (context) => {
    answer(nonceOf(context), '}{');
    return NEVER;
  }),
  forging('answers_with_depths', (context) => {
    answer(nonceOf(context), `${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    return NEVER;
  }),
  forging('answers_more_than_allowed', (context) => {
    answer(nonceOf(context), JSON.stringify('x'.repeat(2_000_000)));
    return NEVER;
  }),
  forging('answers_with_nothing', (context) => {
    answer(nonceOf(context), '');
    return NEVER;
  }),
  forging('answers_with_a_service_code', (context) => {
    answer(nonceOf(context), 'null', failure({ code: 'internal_error' }));
    return 'genuine';
  }),
  forging('answers_with_a_stack', (context) => {
    answer(nonceOf(context), 'null', failure({ message: 'boom\n    at /srv/secret/tool.ts:1:1' }));
    return NEVER;
  }),
  forging(
    'claims_that_nothing_ran',
    (context) => {
      answer(nonceOf(context), 'null', failure({ executed: 'no', outcome: 'retry' }));
      return NEVER;
    },
    'write',
  ),
  forging('says_it_is_unusable', () => {
    writeAll(CHANNEL, toFrame({ type: 'unusable', nonce: '', reason: 'forged' }));
    return 'genuine';
  }),
  forging('closes_its_channel', () => {
    closeSync(CHANNEL);
    return NEVER;
  }),
  forging('begins_a_message_that_never_ends', () => {
    const lengths = Buffer.alloc(8);
    lengths.writeUInt32BE(16, 0);
    lengths.writeUInt32BE(8_000_000, 4);
    writeAll(CHANNEL, lengths);
    return 'swallowed by the message before';
  }),
  forging('good_of_this_file', () => 'genuine'),
];
