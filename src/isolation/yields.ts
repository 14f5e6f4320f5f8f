import { countAlone } from './pool-member.ts';
import type { HostedFile, PoolMember } from './pool-records.ts';

/** Has as many hosts of a group as are missing take no more calls of their files: those with the fewest calls first. */
export const askToYield = (members: Iterable<PoolMember>, group: string, missing: number): void => {
  const busy = [...members].filter((member) => member.group === group && member.seats > 0 && member.closedFor === null);
  const asked = busy.filter(({ isYielding }) => isYielding).length;
  const able = busy.filter(({ isYielding }) => !isYielding).sort((a, b) => a.seats - b.seats);
  for (const member of able.slice(0, Math.max(0, missing - asked))) member.isYielding = true;
};

/**
 * Lets hosts take calls of their files again where nobody waits for their turn any more: who did has found a seat
 * elsewhere, or has given up. A host that answered `maxCalls` goes on yielding: it is to be replaced.
 */
export const takeBackYields = (
  members: Iterable<PoolMember>,
  maxCalls: number,
  waitingIn: (group: string) => readonly HostedFile[],
): void => {
  for (const member of members) {
    if (!member.isYielding || member.host.answered() >= maxCalls) continue;
    const isOther = (hosted: HostedFile): boolean => hosted !== member.turn || countAlone(hosted) > 0;
    member.isYielding = waitingIn(member.group).some(isOther);
  }
};
