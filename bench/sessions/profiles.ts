import { toCallId, toText } from '../bodies.ts';

/** What sessions have been through when it is measured what they cost. */
export const PROFILES = ['one_call', 'ten_rounds', 'full_journal'] as const;
export type Profile = (typeof PROFILES)[number];

type Asked = { readonly name: string; readonly arguments: Readonly<Record<string, string>> };

export type ProfilePlan = {
  readonly title: string;
  readonly rounds: number;
  /** Calls of its whole life that fail. */
  readonly failures: number;
  readonly calls: number;
  /** The calls of one of its rounds, from 0. */
  readonly toCalls: (round: number) => readonly Asked[];
};

const echo = (round: number): Asked => ({
  name: 'echo',
  arguments: { text: toText(round, 0) },
});

// Its failure stands: the tool is not called again.
const FAILING_ROUND = 8;

// Three tools in turn, on the example workspace.
const toTenRoundsCall = (round: number): Asked => {
  if (round === FAILING_ROUND) return { name: 'read_file', arguments: { path: 'minutes/of-no-meeting.md' } };
  if (round % 3 === 2) return { name: 'read_file', arguments: { path: 'notes.md' } };
  return round % 3 === 1 ? { name: 'list_files', arguments: { path: round === 1 ? '.' : 'minutes' } } : echo(round);
};

const FULL_JOURNAL_ROUNDS = 25;
const FULL_JOURNAL_BATCH = 8;

export const PROFILE_PLANS = {
  one_call: {
    title: 'one clean round of one call',
    rounds: 1,
    failures: 0,
    calls: 1,
    toCalls: (round) => [echo(round)],
  },
  ten_rounds: {
    title: 'ten rounds of one call, three tools, one of which has failed once',
    rounds: 10,
    failures: 1,
    calls: 10,
    toCalls: (round) => [toTenRoundsCall(round)],
  },
  full_journal: {
    title: 'a full journal: 25 rounds of 8 calls',
    rounds: FULL_JOURNAL_ROUNDS,
    failures: 0,
    calls: FULL_JOURNAL_ROUNDS * FULL_JOURNAL_BATCH,
    toCalls: (round) => Array.from({ length: FULL_JOURNAL_BATCH }, () => echo(round)),
  },
} as const satisfies Record<Profile, ProfilePlan>;

/** The JSON text of one round, from 0, of a session. */
export const toProfileBody = (profile: Profile, round: number, sessionId: string): string =>
  JSON.stringify({
    session_id: sessionId,
    calls: PROFILE_PLANS[profile].toCalls(round).map((call, index) => ({ id: toCallId(index), ...call })),
  });
