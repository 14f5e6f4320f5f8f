import * as z from 'zod';
import type { LateRound, Permit, Round, SessionSettings } from '../executor/session-store.ts';
import { toCleanTools } from './rules/clean-round.ts';
import type { AdmittedTool } from './rules/retry-budgets.ts';

/** What a call that outlives its batch keeps of its admission: the life of the session, and the tool as it was let in. */
const Ticket = z.object({
  born: z.string(),
  step: z.int(),
  epoch: z.int(),
  retry: z.boolean(),
  /** The hold of its batch on a retry, which the batch may not have given back yet; null: it had none. */
  claim: z.string().nullable(),
});
type Ticket = z.infer<typeof Ticket>;

export const toTicket = (
  session: { readonly born: string; readonly step: number },
  tool: AdmittedTool | undefined,
): string =>
  JSON.stringify({
    born: session.born,
    step: session.step,
    epoch: tool?.epoch ?? 0,
    retry: tool?.permit.decision === 'retry',
    claim: tool?.claimId ?? null,
  } satisfies Ticket);

/** A ticket of a session that nobody finds again: for what is admitted where nothing is counted. */
export const NO_TICKET = JSON.stringify({ born: '', step: 0, epoch: 0, retry: false, claim: null } satisfies Ticket);

export const readTicket = (text: string): Ticket => {
  // This service wrote it.
  return Ticket.parse(JSON.parse(text));
};

/** The round of a call that outlives its batch, as the stores settle rounds. */
export const toLateRound = ({ sessionKey, batchId, tool }: LateRound): Round => ({
  sessionKey,
  batchId,
  roundId: null,
  leaseMs: 0,
  tools: [tool],
  calls: [],
});

/** The tool as it was let in with its batch: with the claim of that, or with one that nobody has. */
export const toLateTools = (
  round: Round,
  { epoch, retry, claim }: Ticket,
  settings: SessionSettings,
): ReadonlyMap<string, AdmittedTool> =>
  new Map(
    Array.from(toCleanTools(round, settings).budgets, ([name, budget]): readonly [string, AdmittedTool] => {
      const permit: Permit = { decision: retry ? 'retry' : 'free', budget };
      return [name, { permit, claimId: claim ?? round.batchId, epoch, late: true }];
    }),
  );
