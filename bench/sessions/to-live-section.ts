import { toTable } from '../to-table.ts';
import type { Live } from './measure-live.ts';
import { PROFILE_PLANS } from './profiles.ts';

/** The part of the report about what live sessions take in Redis. */
export const toLiveSection = ({ redis, costs }: Live): readonly string[] => [
  `### Live sessions in ${redis}: bytes of one`,
  toTable(
    ['session', 'sessions', 'used_memory', 'hash', 'journal', 'lines', 'journal a line'],
    costs.map(({ profile, sessions, bytes, hashBytes, journalBytes, journalLines }) => [
      PROFILE_PLANS[profile].title,
      sessions.toFixed(0),
      ...[bytes, hashBytes, journalBytes, journalLines, journalBytes / journalLines].map((value) => value.toFixed(0)),
    ]),
  ),
  ...costs
    .filter(({ profile, sessions, asked, journalLines }) => {
      const { calls } = PROFILE_PLANS[profile];
      return sessions !== asked || journalLines !== calls;
    })
    .map(
      ({ profile, sessions, asked, journalLines }) =>
        `**Warning:** ${PROFILE_PLANS[profile].title}: ${sessions} of ${asked} sessions were in Redis in the end, with ${journalLines} lines of journal: it was away for part of the time, so these figures are only an estimate.`,
    ),
];
