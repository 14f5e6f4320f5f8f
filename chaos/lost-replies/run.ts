import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { describeMachine } from '../describe-run.ts';
import { CLIENTS } from './client.ts';
import { planPayments } from './cuts.ts';
import { FAULTS, type Fault } from './judge.ts';
import { type Played, play } from './play.ts';
import { countFault, toTables } from './to-tables.ts';

// How many payments are doubled, lost, unknown or wrong when replies are lost, for three clients: docs/lost-replies.md.
//
//     npm run experiment:lost-replies -- [--payments 200] [--seed 1] [--client NAME]...
//
// A run of all 200 with all clients writes its tables into that page.

const PAGE = join(import.meta.dirname, '../../docs/lost-replies.md');
const PAYMENTS = 200;
const MARKERS = /(?<=<!-- begin of the run -->\n).*(?=<!-- end of the run -->)/s;

const { values } = parseArgs({
  options: {
    payments: { type: 'string', default: String(PAYMENTS) },
    seed: { type: 'string', default: '1' },
    client: { type: 'string', multiple: true, default: CLIENTS.map(({ name }) => name) },
  },
});
const [count, seed] = [values.payments, values.seed].map((text) => z.coerce.number().int().nonnegative().parse(text));
const say = (line: string): void => void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);

const main = async (): Promise<readonly Played[]> => {
  const startedAt = performance.now();
  const machine = describeMachine();
  const payments = planPayments(count ?? PAYMENTS, seed ?? 1);
  const played: Played[] = [];
  for (const client of CLIENTS.filter(({ name }) => values.client.includes(name))) {
    say(`${client.name}: ${payments.length} payments, seed ${seed}`);
    played.push(await play(client, payments, say));
  }
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  const tables = toTables(played, [...machine, `Seed ${seed}; all clients together took ${minutes} minutes`]);
  process.stdout.write(`\n${tables}\n`);
  if (payments.length === PAYMENTS && played.length === CLIENTS.length)
    writeFileSync(
      PAGE,
      readFileSync(PAGE, 'utf8').replace(MARKERS, () => `\n${tables}\n\n`),
    );
  return played;
};

const describe = ({ payments }: Played): readonly string[] =>
  payments
    .filter(({ faults }) => faults.length > 0)
    .map(({ payment, faults, bookings, now, result, tries, requestId }) =>
      JSON.stringify({ faults, ...payment, bookings, tries, requestId, now, heard: result }),
    );

// What the others do wrong is what the experiment shows.
const offences = (await main()).filter(({ client }) => client.name === 'reconcile');
for (const line of offences.flatMap(describe)) say(`BROKEN ${line}`);
const broken = FAULTS.reduce(
  (sum, fault: Fault) => sum + offences.reduce((all, { payments }) => all + countFault(payments, fault), 0),
  0,
);
process.exit(broken === 0 ? 0 : 1);
