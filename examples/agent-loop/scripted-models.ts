import type { Message, Model, Move } from './model.ts';

type ToolMessage = Extract<Message, { readonly role: 'tool' }>;

const lastToolMessage = (conversation: readonly Message[]): ToolMessage | undefined => {
  const last = conversation.at(-1);
  return last?.role === 'tool' ? last : undefined;
};

const readFile = (turn: number, path: string, thought: string): Move => ({
  kind: 'calls',
  thought,
  calls: [{ id: `call_${turn}`, name: 'read_file', arguments: { path } }],
});

const turnOf = (conversation: readonly Message[]): number =>
  conversation.filter(({ role }) => role === 'assistant').length + 1;

const firstLineOf = (text: string): string => text.split('\n')[0] ?? '';

/** Mistypes a name, reads what the failure says, and does what it was told: the model that this service is made for. */
export const correctsItself: Model = async (conversation) => {
  const turn = turnOf(conversation);
  const last = lastToolMessage(conversation);
  if (last === undefined) return readFile(turn, 'note.md', 'I read the notes.');
  if (last.success) return { kind: 'answer', text: `The notes begin: ${firstLineOf(last.text)}` };
  // A model reads; this is as near to reading as a script comes.
  const suggestion = /Did you mean '([^']+)'\?/.exec(last.text)?.[1];
  if (suggestion === undefined) return { kind: 'answer', text: 'I found no notes.' };
  return readFile(turn, suggestion, `There is no such file. I take '${suggestion}'.`);
};

/** Guesses one name after the other and never reads a failure. */
export const keepsGuessing: Model = async (conversation) => {
  const turn = turnOf(conversation);
  return readFile(turn, `secret-plan-${turn}.txt`, `Perhaps it is called secret-plan-${turn}.txt.`);
};

/** Guesses like the other, but takes no for an answer: it says what could not be done. */
export const givesUpInTime: Model = async (conversation) => {
  const last = lastToolMessage(conversation);
  if (last === undefined || !/No retries are left/.test(last.text)) return keepsGuessing(conversation);
  return { kind: 'answer', text: 'I could not find the plan.' };
};
