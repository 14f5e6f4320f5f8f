import type { Logger } from 'pino';
import { trackAnswers, type WhenSent } from '../../routes/owed-answers.ts';
import type { Config } from '../../settings/config.ts';
import type { Service } from '../../wiring.ts';

export const ANSWER_MS = 1000;
// When a process group is told to end, `npm start` hands the signal on to the service, which has had it already.
const SAME_SIGNAL_MS = 1000;

/** SIGTERM and SIGINT drain: no new batch, the running ones get their grace, exit 0. A second signal ends at once. */
export const stopOnSignals = (service: Service, config: Config, log: Logger): void => {
  const whenSent = trackAnswers(service.app.server);
  let stoppingSince: number | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stoppingSince === null) {
      stoppingSince = performance.now();
      log.info({ signal }, 'draining');
      void stop(service, whenSent, config, log);
      return;
    }
    if (performance.now() - stoppingSince >= SAME_SIGNAL_MS) process.exit(1);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
};

const stop = async (service: Service, whenSent: WhenSent, config: Config, log: Logger): Promise<void> => {
  const { app, opsApp, executor, drain, close } = service;
  const graceEndsAt = performance.now() + config.SHUTDOWN_GRACE_MS;
  drain();
  await within(config.SHUTDOWN_GRACE_MS, executor.whenIdle());
  // What is still running is cut off; its batches are answered all the same.
  executor.endAll();
  await within(ANSWER_MS, executor.whenIdle());
  // Before the server closes: up to Node 26 that cuts off an answer which is given but not yet sent to its end.
  await within(Math.max(ANSWER_MS, graceEndsAt - performance.now()), whenSent());
  await within(ANSWER_MS, app.close());
  // Last: until here it has said that the service drains.
  await within(ANSWER_MS, opsApp?.close() ?? Promise.resolve());
  await within(ANSWER_MS, close());
  log.info('stopped');
  log.flush(() => process.exit(0));
  setTimeout(() => process.exit(0), ANSWER_MS);
};

const within = (ms: number, work: Promise<unknown>): Promise<unknown> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
};
