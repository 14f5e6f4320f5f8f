import type { components } from '../../../../clients/typescript/src/generated/api.ts';

export type SessionCall = components['schemas']['JournalEntry'];

/** Calls that a reader sees as one row: one call, or refusals of one tool for one reason; `times` counts repeats as well. */
export type CallRow = { readonly last: SessionCall; readonly calls: readonly SessionCall[]; readonly times: number };

const isRefusal = ({ outcome, executed }: SessionCall): boolean => outcome === 'refused' && executed === 'no';

const NO_NAME = '(no name)';

export const nameOf = ({ name, tool }: Pick<SessionCall, 'name' | 'tool'>): string => name ?? tool ?? NO_NAME;

/** The tool, or what stands for all names that no tool has. */
export const toolOf = ({ tool }: Pick<SessionCall, 'tool'>): string => tool ?? NO_NAME;

/**
 * The calls of a journal as rows, in its order. Of calls that were refused one after the other, those of one tool for one reason are
 * one row: an agent in a loop is one line, and what it did before stays in sight.
 */
export const foldRefusals = (calls: readonly SessionCall[]): readonly CallRow[] => {
  const rows: { last: SessionCall; calls: SessionCall[]; times: number }[] = [];
  let refused = new Map<string, (typeof rows)[number]>();
  for (const call of calls) {
    if (!isRefusal(call)) refused = new Map();
    const key = `${call.code}\n${toolOf(call)}`;
    const row = refused.get(key) ?? { last: call, calls: [], times: 0 };
    if (row.calls.length === 0) rows.push(row);
    row.last = call;
    row.calls.push(call);
    row.times += call.repeats ?? 1;
    if (isRefusal(call)) refused.set(key, row);
  }
  return rows;
};

/** The rounds that refusals of a row were in. Of repeats only the last is on record: those before it are put right before it. */
export const roundsOf = ({ last, calls, times }: CallRow, after = 0): readonly number[] => {
  if (times === calls.length) return [...new Set(calls.map(({ step }) => step))];
  const first = Math.max(last.step - times + 1, after + 1, 1);
  return [...Array(Math.max(1, last.step - first + 1)).keys()].map((each) => last.step - each);
};
