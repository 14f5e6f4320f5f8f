import type { PlannedCall } from '@recourse/test-support/providers/provider.ts';
import type { Scenario } from './scenarios.ts';

/** What the model reads of a call that is made wrong, and who says it: a runtime's own answer never reaches the service. */
export type AnswerToMistake = { readonly by: 'service' | 'runtime'; readonly text: string };

const INVALID_JSON: AnswerToMistake = {
  by: 'service',
  text: `ERROR: invalid_arguments: Arguments for 'echo' are not valid JSON: unexpected end at position 9. Send one JSON object, for example {"text": "text"}.\nRetries left: 3 of 3.`,
};

const UNKNOWN_TOOL: AnswerToMistake = {
  by: 'service',
  text: 'ERROR: unknown_tool: Unknown tool: send_fax. Available tools: read_file, read_cell, echo, fetch_url, note, list_files, math.add, search_files, write_file, charge_card, close_ledger, search_orders.\nRetries left: 3 of 3.',
};

/** A call whose arguments are no JSON. Only OpenAI's models write them as text and can get them wrong like that. */
export const createBrokenArguments = (answer: AnswerToMistake = INVALID_JSON): Scenario =>
  createMistake('arguments that are no JSON', { id: 'call_2', name: 'echo', arguments: '{"text": ' }, answer);

/** A call of a tool that was never offered. */
export const createUnknownName = (answer: AnswerToMistake = UNKNOWN_TOOL): Scenario =>
  createMistake(
    'a tool name that does not exist',
    { id: 'call_2', name: 'send_fax', arguments: { text: '5' } },
    answer,
  );

const createMistake = (title: string, mistake: PlannedCall, { by, text }: AnswerToMistake): Scenario => ({
  title: `${title}, beside a good call: the ${by} answers, and the run goes on`,
  question: 'Add 2 and 3, and say so.',
  script: ({ rounds }) => {
    if (rounds.length === 0) return { calls: [{ id: 'call_1', name: 'math_add', arguments: { x: 2, y: 3 } }, mistake] };
    return { text: `The sum is ${rounds[0]?.[0]?.text}.` };
  },
  answer: 'The sum is 5.',
  read: [
    [
      { id: 'call_1', text: '5', isError: false },
      { id: 'call_2', text, isError: true },
    ],
  ],
  charges: [],
  served: by === 'service' ? 2 : 1,
});
