import { CUTS, type CutKind } from './cuts.ts';
import { FAULTS, type Fault, type Judged } from './judge.ts';
import type { Played } from './play.ts';

/** Two tables, as Markdown: what became of all payments of each client, and how often each cut went wrong. */
export const toTables = (played: readonly Played[], settings: readonly string[]): string =>
  [settings.map((line) => `- ${line}`).join('\n'), toClients(played), toCuts(played)].join('\n\n');

const toTable = (rows: readonly (readonly (string | number)[])[]): string => {
  const [head = [], ...others] = rows;
  return [head, head.map(() => '---'), ...others].map((row) => `| ${row.join(' | ')} |`).join('\n');
};

export const countFault = (payments: readonly Judged[], fault: Fault): number =>
  payments.filter(({ faults }) => faults.includes(fault)).length;

const toClients = (played: readonly Played[]): string =>
  toTable([
    [
      'client',
      'payments',
      'kills',
      'booked once, and known',
      ...FAULTS,
      'requests a payment',
      'half are answered in',
      'the last in',
    ],
    ...played.map(({ client, payments, kills }) => {
      const times = payments.map(({ tookMs }) => tookMs).sort((one, other) => one - other);
      const tries = payments.reduce((sum, each) => sum + each.tries, 0) / payments.length;
      return [
        ...[client.name, payments.length, kills, payments.filter(({ faults }) => faults.length === 0).length],
        ...FAULTS.map((fault) => countFault(payments, fault)),
        ...[tries.toFixed(1), toSeconds(times[Math.floor(times.length / 2)]), toSeconds(times.at(-1))],
      ];
    }),
  ]);

const toSeconds = (ms = 0): string => `${(ms / 1000).toFixed(1)} s`;

const isCut = (name: string): name is CutKind => Object.hasOwn(CUTS, name);

const toCuts = (played: readonly Played[]): string =>
  toTable([
    ['where the first try is cut', 'payments', ...played.map(({ client }) => client.name)],
    ...Object.keys(CUTS)
      .filter(isCut)
      .map((cut) => {
        const ofCut = played.map(({ payments }) => payments.filter(({ payment }) => payment.cut === cut));
        return [CUTS[cut], ofCut[0]?.length ?? 0, ...ofCut.map(describeFaults)];
      }),
  ]);

const describeFaults = (payments: readonly Judged[]): string => {
  const counts = FAULTS.map((fault) => [countFault(payments, fault), fault] as const).filter(([count]) => count > 0);
  return counts.length === 0 ? 'none' : counts.map(([count, fault]) => `${count} ${fault}`).join(', ');
};
