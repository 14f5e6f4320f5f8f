import { isRecord } from 'recourse-server/contract/json-record';
import { parseJson } from 'recourse-server/json/parse-json';
import * as z from 'zod';

const WindowMs = z.number().positive();

/** All that another process needs to settle what rules have reserved for a call, whatever rules it has itself. */
const Ticket = z.object({
  /** Of the reservation. */
  name: z.string(),
  isWrite: z.boolean(),
  uses: z.array(
    z.object({
      rule: z.string(),
      key: z.string(),
      amount: z
        .string()
        .regex(/^\d{1,40}$/)
        .transform(BigInt),
      windowMs: WindowMs.nullable(),
    }),
  ),
  successes: z.array(z.object({ rule: z.string(), key: z.string(), digest: z.string(), withinMs: WindowMs })),
});
export type Ticket = Readonly<z.output<typeof Ticket>>;

export const writeTicket = (ticket: Ticket): string =>
  JSON.stringify({ ...ticket, uses: ticket.uses.map((use) => ({ ...use, amount: String(use.amount) })) });

/** null: it is none of ours. */
export const readTicket = (text: string): Ticket | null => {
  const parsed = parseJson(text);
  return parsed.ok && isRecord(parsed.value) ? (Ticket.safeParse(parsed.value).data ?? null) : null;
};
