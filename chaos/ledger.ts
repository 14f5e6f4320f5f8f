import { readFileSync } from 'node:fs';
import type { Accounts } from './accounts.ts';

export type Ledger = {
  /** The file that write tools append to. */
  readonly path: string;
  /** Notes what the service said of the call that appends this line. */
  readonly answered: (line: string, executed: 'yes' | 'no' | 'maybe', where: string) => void;
  /** Every line and how often it stands there. */
  readonly read: () => ReadonlyMap<string, number>;
  /** Compares what was said with what was written, after every process has ended. */
  readonly settle: (accounts: Accounts) => void;
};

/** How lines of calls begin: of a batch without a key, of one with it, and of a session whose every round fails. */
export const [PLAIN_LINE, KEYED_LINE, BUDGET_LINE] = ['u', 'k', 'b'] as const;

type Said = { readonly executed: 'yes' | 'no' | 'maybe'; readonly where: string };

export const createLedger = (path: string): Ledger => {
  const said = new Map<string, Said>();
  return {
    path,
    answered: (line, executed, where) => void said.set(line, { executed, where }),
    read: () => countLines(path),
    settle: (accounts) => {
      const written = countLines(path);
      for (const [line, times] of written) {
        if (times === 1 || !line.startsWith(PLAIN_LINE)) continue;
        accounts.offend('written_twice', `${line}: ${times} times; ${said.get(line)?.where ?? 'unanswered'}`);
      }
      for (const [line, words] of said) compare(words, written.has(line), accounts);
    },
  };
};

const compare = ({ executed, where }: Said, isWritten: boolean, accounts: Accounts): void => {
  accounts.add(`write calls answered ${executed}, ${isWritten ? 'written' : 'not written'}`);
  if (executed === 'yes' && !isWritten) accounts.offend('yes_unwritten', where);
  if (executed === 'no' && isWritten) accounts.offend('no_written', where);
};

const countLines = (path: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const line of readFileSync(path, 'utf8').split('\n'))
    if (line !== '') counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
};
