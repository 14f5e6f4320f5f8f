import { timeLimit } from '@recourse/test-support/time-limit.ts';
import * as fc from 'fast-check';

// The same in every run of CI, so that a red run means a change; `random` looks for what this one does not find.
const FIXED_SEED = 20_260_722;
// Of each property: enough for dozens of inputs, and a minute for the whole folder.
const CI_SECONDS = 4;
// For start, shrinking and stop of the services around a property.
const MARGIN_MS = timeLimit(60_000);

const readWhole = (name: string, standard: number): number => {
  const text = process.env[name];
  if (text === undefined || text === '') return standard;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`${name} must be a whole number.`);
};

const readSeed = (): number =>
  process.env['HOSTILE_SEED'] === 'random'
    ? Math.floor(Math.random() * 2 ** 31)
    : readWhole('HOSTILE_SEED', FIXED_SEED);

/** HOSTILE_SEED: a whole number of at most nine digits, or `random`; left out: the same in every run. */
export const SEED = readSeed();
/** HOSTILE_SECONDS: for how long each property of the folder looks for a counterexample. */
export const SECONDS = readWhole('HOSTILE_SECONDS', CI_SECONDS);
/** Time limit of a test that runs one property, in milliseconds. */
export const TEST_MS = SECONDS * 1000 + MARGIN_MS;

// Few, so that a run ends soon after its time: an input that is being tried is never abandoned.
const INPUTS_A_ROUND = 5;

/**
 * Tries a property with these examples and inputs of SEED until SECONDS are over, with a few at the least. Rejects with the
 * smallest counterexample found, and with how to run it again.
 */
export const runBounded = async <Inputs>(
  property: fc.IAsyncProperty<Inputs>,
  examples: readonly Inputs[] = [],
): Promise<void> => {
  const endsAt = performance.now() + SECONDS * 1000;
  for (let seed = SEED; seed === SEED || performance.now() < endsAt; seed += 1) {
    const limits = {
      numRuns: INPUTS_A_ROUND,
      interruptAfterTimeLimit: (MARGIN_MS * 3) / 4,
      markInterruptAsFailure: true,
    };
    const details = await fc.check(property, { seed, examples: [...examples], ...limits });
    if (!details.failed) continue;
    const report = await fc.asyncDefaultReportMessage(details);
    throw new Error(`HOSTILE_SEED=${seed} HOSTILE_SECONDS=${SECONDS} npm run attack\n${report}`, {
      cause: details.errorInstance,
    });
  }
};
