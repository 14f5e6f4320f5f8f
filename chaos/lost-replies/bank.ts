import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import * as z from 'zod';
import type { Payment } from './cuts.ts';

const Ledger = z.array(z.object({ payment: z.string(), state: z.enum(['accepted', 'booked', 'dropped']) }));
const Told = z.union([z.object({ port: z.int() }), z.object({ kill: z.string(), host: z.int() })]);

/** A bank in a process of its own, with an empty ledger. */
export type Bank = {
  readonly url: string;
  /** How often each payment was booked. Payments that are not booked are not in it. */
  readonly bookings: () => Promise<ReadonlyMap<string, number>>;
  readonly close: () => Promise<void>;
};

/** `onKill`: the request of this payment, from this tool host, has come to the point at which something is to be killed. */
export const startBank = async (
  payments: readonly Payment[],
  onKill: (payment: string, host: number) => Promise<void>,
): Promise<Bank> => {
  const child = fork(join(import.meta.dirname, 'bank-process.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  const port = Promise.withResolvers<number>();
  child.on('message', (message) => {
    const told = Told.parse(message);
    if ('port' in told) port.resolve(told.port);
    else void onKill(told.kill, told.host).then(() => child.connected && child.send({ killed: told.kill }));
  });
  void ended.then(() => port.reject(new Error('The process of the bank has ended.')));
  child.send({ plan: payments });
  const url = `http://127.0.0.1:${await port.promise}`;
  return {
    url,
    bookings: async () => {
      const ledger = Ledger.parse(await (await fetch(`${url}/ledger`)).json());
      const booked = Map.groupBy(
        ledger.filter(({ state }) => state === 'booked'),
        ({ payment }) => payment,
      );
      return new Map([...booked].map(([payment, entries]) => [payment, entries.length]));
    },
    close: async () => {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
};
