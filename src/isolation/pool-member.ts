import type { HostedFile, PoolMember } from './pool-records.ts';
import type { ToolHost } from './tool-host.ts';

export const createMember = (host: ToolHost, group: string, owner: HostedFile | null, now: number): PoolMember => ({
  host,
  group,
  owner,
  phase: 'starting',
  since: now,
  restlessSince: null,
  turn: null,
  loaded: new Set(),
  isLoading: false,
  seats: 0,
  isAlone: false,
  isYielding: false,
  closedFor: null,
  deadVersions: 0,
});

/** How many are in this phase. */
export const countPhase = (members: Iterable<PoolMember>, phase: PoolMember['phase']): number => {
  let count = 0;
  for (const member of members) if (member.phase === phase) count += 1;
  return count;
};

/** How many are about to end: each makes room for another. */
export const countEnding = (members: Iterable<PoolMember>): number => {
  let count = 0;
  for (const { host } of members) if (host.isEnding()) count += 1;
  return count;
};

// So many calls run in one host before another one is sought; and so many where no other is to be had.
export const ROOMY_CALLS = 16;
export const MOST_CALLS = 256;

/** Whether this host, whose turn is the call's file, takes another call beside those it runs. */
export const takesAnother = (member: PoolMember, isAlone: boolean): boolean => {
  const { host, closedFor, isYielding, isLoading, seats } = member;
  if (closedFor !== null || isYielding || isLoading || member.isAlone || member.phase === 'starting') return false;
  if (host.isEnding() || host.isSpent()) return false;
  return isAlone ? seats === 0 : seats < MOST_CALLS;
};

/** How many of its calls have not begun: its event loop did not come to them. */
export const countUnbegun = ({ host }: PoolMember): number => {
  let count = 0;
  for (const call of host.calls) if (!call.began) count += 1;
  return count;
};

/** Of hosts that take another call of their file the one that is likely to begin it first. */
export const findRoomiest = (members: Iterable<PoolMember>, isAlone: boolean): PoolMember | null => {
  let best: PoolMember | null = null;
  let bestLoad = Number.POSITIVE_INFINITY;
  for (const member of members) {
    if (!takesAnother(member, isAlone)) continue;
    const load = countUnbegun(member) * MOST_CALLS + member.seats;
    if (load < bestLoad) [best, bestLoad] = [member, load];
  }
  return best;
};

export const listGroup = (members: Iterable<PoolMember>, group: string): readonly PoolMember[] =>
  [...members].filter((member) => member.group === group);

/** It has no calls, or will be free of what it does before it has any. */
export const isSpare = ({ phase, isLoading }: PoolMember): boolean => phase !== 'busy' || isLoading;

/** Idle hosts of a group that may run another file than the last one. */
export const listIdle = (members: Iterable<PoolMember>, group: string): readonly PoolMember[] => {
  const idle: PoolMember[] = [];
  for (const member of members) if (member.group === group && isFree(member)) idle.push(member);
  return idle;
};

const isFree = ({ phase, host, closedFor }: PoolMember): boolean =>
  phase === 'idle' && closedFor === null && host.unrest() === null && !host.isEnding() && !host.isSpent();

/** The one that has the file already, else the one that was busy last: its successors may end. */
export const chooseIdle = (idle: readonly PoolMember[], file: HostedFile): PoolMember | null => {
  let best: PoolMember | null = null;
  for (const member of idle) {
    if (best === null || isBetter(member, best, file)) best = member;
  }
  return best;
};

const isBetter = (member: PoolMember, best: PoolMember, file: HostedFile): boolean => {
  const [has, bestHas] = [member.loaded.has(file), best.loaded.has(file)];
  return has === bestHas ? member.since > best.since : has;
};

/** The idle host that is missed least by the hosts' other users: one of a single file before one of many, the oldest first. */
export const chooseVictim = (members: Iterable<PoolMember>): PoolMember | null => {
  let victim: PoolMember | null = null;
  for (const member of members) {
    if (member.phase !== 'idle' || member.host.isEnding()) continue;
    if (victim === null || isLessMissed(member, victim)) victim = member;
  }
  return victim;
};

const isLessMissed = (member: PoolMember, other: PoolMember): boolean => {
  const [own, otherOwn] = [member.owner !== null, other.owner !== null];
  return own === otherOwn ? member.since < other.since : own;
};

/** How many hosts are loading the file. */
export const countLoading = ({ members }: HostedFile): number => {
  let count = 0;
  for (const { isLoading } of members) if (isLoading) count += 1;
  return count;
};

/** It is this file's turn, in a host that is free. */
export const enterTurn = (member: PoolMember, hosted: HostedFile, now: number): void => {
  if (member.phase !== 'busy') member.since = now;
  member.phase = 'busy';
  if (member.turn === hosted) return;
  member.turn?.members.delete(member);
  member.turn = hosted;
  hosted.members.add(member);
};

/** Takes a seat for a call of this file. */
export const sit = (member: PoolMember, hosted: HostedFile, isAlone: boolean, now: number): PoolMember => {
  enterTurn(member, hosted, now);
  member.seats += 1;
  member.isAlone = isAlone;
  return member;
};

/** No call of this version will come to this host any more. */
export const dropVersion = (member: PoolMember, hosted: HostedFile): void => {
  if (member.loaded.delete(hosted)) {
    member.host.unload(hosted);
    member.deadVersions += 1;
  }
  if (member.turn !== hosted) return;
  hosted.members.delete(member);
  member.turn = null;
};

/** Ends a host where every call that it still runs is over its time; opens it again where none is. */
export const settleOverdue = (member: PoolMember): void => {
  const calls = [...member.host.calls];
  const overdue = calls.filter(({ isOverdue }) => isOverdue);
  if (overdue.length === 0) member.closedFor = null;
  else if (overdue.length === calls.length) member.host.kill('timeout');
};

/** Where something of another file goes on in a host, that file's turn has not ended: it refused the calls of this one. */
export const returnTurn = (member: PoolMember): void => {
  const version = member.host.unrest()?.version;
  if (version === undefined || member.turn?.version === version) return;
  member.turn?.members.delete(member);
  member.turn = [...member.loaded].find((hosted) => hosted.version === version) ?? null;
  member.turn?.members.add(member);
};

/** Whether a call more is likely to begin at once. */
export const isPrompt = (member: PoolMember): boolean => member.seats < ROOMY_CALLS && countUnbegun(member) === 0;

/** How many of the calls that wait for this file must run alone. */
export const countAlone = ({ waiting }: HostedFile): number => {
  let count = 0;
  for (const { isAlone } of waiting) if (isAlone) count += 1;
  return count;
};

/** How many more hosts the calls that wait for this file could use than are loading it. */
export const countMissing = (hosted: HostedFile): number => {
  const alone = countAlone(hosted);
  const wanted = alone + (hosted.waiting.size > alone ? 1 : 0);
  return Math.max(0, wanted - countLoading(hosted));
};
