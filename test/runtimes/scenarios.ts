import type { Conversation, ModelTurn, PlannedCall } from '@recourse/test-support/providers/provider.ts';

export type Scenario = {
  readonly title: string;
  readonly question: string;
  /** The model's side: reads what the tools answered and reacts to it. */
  readonly script: (conversation: Conversation) => ModelTurn;
  readonly answer: string;
  /** What the model has read by then, a list a turn, whatever the provider's format. */
  readonly read: readonly (readonly { readonly id: string; readonly text: string; readonly isError: boolean }[])[];
  /** Every amount `charge_card` was run with, smallest first. */
  readonly charges: readonly number[];
  /** How many calls the service has heard of. */
  readonly served: number;
};

const call = (id: string, name: string, given: PlannedCall['arguments']): PlannedCall => ({
  id,
  name,
  arguments: given,
});

const textAt = ({ rounds }: Conversation, round: number, place: number): string => {
  const text = rounds[round]?.[place]?.text;
  if (text === undefined) throw new Error(`there is no result ${place} in round ${round}`);
  return text;
};

const ONE_CALL: Scenario = {
  title: 'one call is answered, although its name has a dot that providers refuse',
  question: 'What is 2 + 3?',
  script: (conversation) =>
    conversation.rounds.length === 0
      ? { calls: [call('call_1', 'math_add', { x: 2, y: 3 })] }
      : { text: `The sum is ${textAt(conversation, 0, 0)}.` },
  answer: 'The sum is 5.',
  read: [[{ id: 'call_1', text: '5', isError: false }]],
  charges: [],
  served: 1,
};

const DECLINED = 'ERROR: tool_exception: Error: the card was declined';

const THREE_PARALLEL: Scenario = {
  title: 'of three parallel calls one fails, and each gets its own answer',
  question: 'Add 2 and 3, charge 10 and say hello.',
  script: (conversation) =>
    conversation.rounds.length === 0
      ? {
          calls: [
            call('call_1', 'math_add', { x: 2, y: 3 }),
            call('call_2', 'charge_card', { amount: 10 }),
            call('call_3', 'echo', { text: 'hello' }),
          ],
        }
      : { text: `${textAt(conversation, 0, 0)} and ${textAt(conversation, 0, 2)}, but the card was not charged.` },
  answer: '5 and {"text":"hello"}, but the card was not charged.',
  read: [
    [
      { id: 'call_1', text: '5', isError: false },
      { id: 'call_2', text: `${DECLINED}. This was attempt 1 of 2; one retry is left.`, isError: true },
      { id: 'call_3', text: '{"text":"hello"}', isError: false },
    ],
  ],
  charges: [10],
  served: 3,
};

const BAD_ARGUMENTS: Scenario = {
  title: 'bad arguments are corrected on the second try, by what the answer says',
  question: 'What is two plus three?',
  script: (conversation) => {
    if (conversation.rounds.length === 0) return { calls: [call('call_1', 'math_add', { x: 'two', y: 3 })] };
    if (!textAt(conversation, 0, 0).includes('x: expected a number')) throw new Error('the mistake is not named');
    if (conversation.rounds.length === 1) return { calls: [call('call_2', 'math_add', { x: 2, y: 3 })] };
    return { text: `The sum is ${textAt(conversation, 1, 0)}.` };
  },
  answer: 'The sum is 5.',
  read: [
    [
      {
        id: 'call_1',
        text: [
          "ERROR: invalid_arguments: Invalid arguments for 'math.add' (1 problem):",
          '- x: expected a number, got the string "two"',
          "Fix these and call 'math.add' again.",
          'Retries left: 3 of 3.',
        ].join('\n'),
        isError: true,
      },
    ],
    [{ id: 'call_2', text: '5', isError: false }],
  ],
  charges: [],
  served: 2,
};

const BLOCKED =
  "ERROR: retry_budget_exhausted: Tool 'charge_card' failed 2 times in a row and is blocked for this session. Do not call it again: use another tool, or say what could not be done. Last error: Error: the card was declined";

const chargeUntilBlocked =
  (first: readonly PlannedCall[]): Scenario['script'] =>
  ({ rounds }) => {
    const [last] = rounds.at(-1) ?? [];
    if (last?.text.includes('is blocked for this session') === true) return { text: 'The card cannot be charged.' };
    if (rounds.length > 4) throw new Error('the model is never told to stop');
    if (rounds.length === 0) return { calls: first };
    // Another amount each time, or the guard against loops would speak first.
    const amount = rounds.length + first.length;
    return { calls: [call(`call_${amount}`, 'charge_card', { amount })] };
  };

// The two of the first turn are one round: counted apart, the second would be the only retry and the third refused.
const BUDGET: Scenario = {
  title: 'a budget runs out over several turns; the model is told, and stops',
  question: 'Charge the card, whatever it takes.',
  script: chargeUntilBlocked([
    call('call_1', 'charge_card', { amount: 1 }),
    call('call_2', 'charge_card', { amount: 2 }),
  ]),
  answer: 'The card cannot be charged.',
  read: [
    [
      { id: 'call_1', text: `${DECLINED}. This was attempt 1 of 2; one retry is left.`, isError: true },
      { id: 'call_2', text: `${DECLINED}. This was attempt 1 of 2; one retry is left.`, isError: true },
    ],
    [
      {
        id: 'call_3',
        text: `${DECLINED}. No retries are left for 'charge_card'. Use another tool, or say what could not be done.`,
        isError: true,
      },
    ],
    [{ id: 'call_4', text: BLOCKED, isError: true }],
  ],
  charges: [1, 2, 3],
  served: 4,
};

/** For runtimes that cannot say which calls belong to one turn. */
const BUDGET_ONE_BY_ONE: Scenario = {
  ...BUDGET,
  script: chargeUntilBlocked([call('call_1', 'charge_card', { amount: 1 })]),
  read: [
    [{ id: 'call_1', text: `${DECLINED}. This was attempt 1 of 2; one retry is left.`, isError: true }],
    [
      {
        id: 'call_2',
        text: `${DECLINED}. No retries are left for 'charge_card'. Use another tool, or say what could not be done.`,
        isError: true,
      },
    ],
    [{ id: 'call_3', text: BLOCKED, isError: true }],
  ],
  charges: [1, 2],
  served: 3,
};

const EMPTY: Scenario = {
  title: 'empty results are successes with a text that no provider refuses',
  question: 'Which orders are there, and what is in A1?',
  script: (conversation) =>
    conversation.rounds.length === 0
      ? {
          calls: [
            call('call_1', 'search_orders', { query: 'lamps' }),
            call('call_2', 'read_cell', { cell: 'A1' }),
            call('call_3', 'note', { labels: {}, body: [] }),
          ],
        }
      : { text: 'There is nothing.' },
  answer: 'There is nothing.',
  read: [
    [
      { id: 'call_1', text: "No order matches 'lamps'.", isError: false },
      { id: 'call_2', text: 'The tool succeeded and returned nothing.', isError: false },
      { id: 'call_3', text: 'The tool succeeded and returned nothing.', isError: false },
    ],
  ],
  charges: [],
  served: 3,
};

/** For runtimes that look at the results beside the messages. */
export const FATAL: Scenario = {
  title: 'a fatal failure ends the run before the model is asked again',
  question: 'Close the ledger of 2025.',
  script: ({ rounds }) => {
    if (rounds.length > 0) throw new Error('the model is asked again');
    return { calls: [call('call_1', 'close_ledger', { year: 2025 })] };
  },
  answer: 'failed: Error: A tool ended this run: Error: the ledger of 2025 is damaged',
  read: [],
  charges: [],
  served: 1,
};

/** What every runtime has to get through. */
export const SCENARIOS: readonly Scenario[] = [ONE_CALL, THREE_PARALLEL, BAD_ARGUMENTS, BUDGET, EMPTY];

/** The same, one call at a time where the budget is counted. */
export const SCENARIOS_WITHOUT_ROUNDS: readonly Scenario[] = SCENARIOS.map((scenario) =>
  scenario === BUDGET ? BUDGET_ONE_BY_ONE : scenario,
);

/** Several calls at once of which one fails, and a mistake that the next turn mends. */
export const TWO_SCENARIOS: readonly Scenario[] = [THREE_PARALLEL, BAD_ARGUMENTS];

/** A mistake and a budget, where no answer of the model quotes JSON. */
export const SCENARIOS_IN_WORDS: readonly Scenario[] = [BAD_ARGUMENTS, BUDGET];
