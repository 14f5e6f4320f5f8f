import type { SessionView } from './api.ts';

export type SessionCall = SessionView['calls'][number];

/** Calls that a reader sees as one row: one call, or refusals of one tool for one reason; `times` counts repeats as well. */
export type CallRow = { readonly last: SessionCall; readonly calls: readonly SessionCall[]; readonly times: number };

const isRefusal = ({ outcome, executed }: SessionCall): boolean => outcome === 'refused' && executed === 'no';

export const nameOf = ({ name, tool }: Pick<SessionCall, 'name' | 'tool'>): string => name ?? tool ?? '(no name)';

/**
 * The calls of a journal as rows, in its order. Of calls that were refused one after the other, those of one tool for one reason are
 * one row: an agent in a loop is one line, and what it did before stays in sight.
 */
export const foldRefusals = (calls: readonly SessionCall[]): readonly CallRow[] => {
  const rows: { last: SessionCall; calls: SessionCall[]; times: number }[] = [];
  let refused = new Map<string, (typeof rows)[number]>();
  for (const call of calls) {
    if (!isRefusal(call)) refused = new Map();
    const key = `${call.code}\n${nameOf(call)}`;
    const row = refused.get(key) ?? { last: call, calls: [], times: 0 };
    if (row.calls.length === 0) rows.push(row);
    row.last = call;
    row.calls.push(call);
    row.times += call.repeats ?? 1;
    if (isRefusal(call)) refused.set(key, row);
  }
  return rows;
};
