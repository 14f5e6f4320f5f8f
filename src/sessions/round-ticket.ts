import * as z from 'zod';
import type { LateRound, Round } from '../executor/session-store.ts';
import type { AdmittedTool } from './rules/retry-budgets.ts';

/** What a call that outlives its batch keeps of its admission: the life of the session, and the tool as it was let in. */
const Ticket = z.object({
  born: z.string(),
  step: z.int(),
  epoch: z.int(),
  retry: z.boolean(),
  /** The reservation of its batch, which the batch may not have settled yet; null: it had none. */
  claim: z.string().nullable(),
});

/** The ticket of a tool that was let in. */
export const createTicket = (
  { born, step }: { readonly born: string; readonly step: number },
  tool: AdmittedTool | undefined,
): string =>
  JSON.stringify({
    ...{ born, step, epoch: tool?.epoch ?? 0, retry: tool?.permit.decision === 'retry' },
    claim: tool?.reservationId ?? null,
  } satisfies z.infer<typeof Ticket>);

/** A ticket of no session: for what is admitted where nothing is counted. */
export const NO_TICKET = createTicket({ born: '', step: 0 }, undefined);

/** Reads a ticket that this service has written. */
export const readTicket = (text: string): z.infer<typeof Ticket> => Ticket.parse(JSON.parse(text));

/** The round of a call that outlives its batch, as stores settle rounds. */
export const createLateRound = ({ sessionKey, batchId, tool }: LateRound): Round => ({
  ...{ sessionKey, batchId, roundId: null, leaseMs: 0 },
  ...{ tools: [tool], calls: [] },
});
