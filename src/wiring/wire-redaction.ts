import type { Variables } from '../config/file/expand-variables.ts';
import { findEnvironmentSecrets, type NamedSecret } from '../config/secrets.ts';
import type { Config } from '../config/settings/config.ts';
import { EXECUTED, FAILURE_CODES, OUTCOMES } from '../contract/failure.ts';
import { JournalEntry } from '../contract/session.ts';
import { ToolDescription } from '../contract/tool-description.ts';
import {
  DRY_RUN_DEPTHS,
  DRY_RUN_VERDICTS,
  DryRun,
  FailureDetail,
  RetryState,
  ToolCallsResponse,
  ToolChecked,
  ToolFailure,
  ToolSuccess,
} from '../contract/tool-result.ts';
import type { RedactedIn } from '../executor/redactor.ts';
import { createRedactor, type ServiceRedactor } from '../redaction/service-redactor.ts';
import type { CountSeries } from '../telemetry/tally.ts';

type Counts = Readonly<Record<RedactedIn, CountSeries>>;

export type WiredRedaction = {
  readonly redactor: ServiceRedactor;
  /** Where redacted texts are counted from now on, those so far included: the log is there before there are metrics. */
  readonly countIn: (counts: Counts) => void;
  /** Variables with a secret that is a word of the answers themselves, so that it is not registered. */
  readonly leftOut: readonly string[];
  /** Variables with a secret of fewer than 16 characters: a caller can try all of its guesses. */
  readonly guessable: readonly string[];
  /** Registers more values, each under the name of where it stands; gives the names of those that are left out likewise. */
  readonly register: (found: readonly NamedSecret[]) => readonly string[];
};

/** Registers the secret values that the environment holds. */
export const wireRedaction = (config: Config, environment: Variables): WiredRedaction => {
  let counts: Counts = { result: { count: 0 }, journal: { count: 0 }, log: { count: 0 }, span: { count: 0 } };
  const redactor = createRedactor({
    secrets: [],
    onRedacted: (place) => {
      counts[place].count += 1;
    },
  });
  const register = (found: readonly NamedSecret[]): readonly string[] => {
    redactor.register(found.filter(({ value }) => !OWN_WORDS.has(value)).map(({ value }) => value));
    return [...new Set(found.filter(({ value }) => OWN_WORDS.has(value)).map(({ name }) => name))];
  };
  const found = findEnvironmentSecrets(config, environment);
  const leftOut = register(found);
  const guessable = [...new Set(found.filter(isGuessable).map(({ name }) => name))];
  const countIn = (next: Counts): void => {
    for (const place of PLACES) next[place].count += counts[place].count;
    counts = next;
  };
  return { redactor, countIn, leftOut, guessable, register };
};

// Sixteen random characters are beyond all guesses, whatever alphabet they are of.
const isGuessable = ({ value }: NamedSecret): boolean => value.length > 0 && value.length < 16;

const PLACES = ['result', 'journal', 'log', 'span'] as const satisfies readonly RedactedIn[];

// A password that is one of these would take the meaning from every answer.
const OWN_WORDS: ReadonlySet<string> = new Set([
  'redacted',
  ...FAILURE_CODES,
  ...OUTCOMES,
  ...EXECUTED,
  ...[ToolChecked.shape.outcome.value, ...DRY_RUN_DEPTHS, ...DRY_RUN_VERDICTS],
  ...[
    ToolCallsResponse,
    ToolSuccess,
    ToolFailure,
    ToolChecked,
    DryRun,
    FailureDetail,
    RetryState,
    JournalEntry,
    ToolDescription,
  ].flatMap(({ shape }) => Object.keys(shape)),
]);
