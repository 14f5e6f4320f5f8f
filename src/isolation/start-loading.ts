import type { HostConversation } from './host-conversation.ts';
import type { HostOrder } from './host-messages.ts';
import type { Death, KillReason } from './isolation-observer.ts';
import { startLoadClock } from './load-clock.ts';
import type { HostLoad } from './loadable-file.ts';

type Line = {
  readonly conversation: HostConversation;
  readonly createNonce: () => string;
  readonly send: (order: HostOrder, body: string) => void;
  readonly kill: (reason: KillReason) => void;
  readonly ended: Promise<Death>;
  /** How long the process has waited for a processor; null where that is not known. */
  readonly waitedMs: () => number | null;
  readonly now: () => number;
};

// A busy machine is not the file's fault: the clock of a file starts when its process is up and takes it in hand.
const START_MS = 15_000;
// What still holds up a process that is up may go on for ever.
const BEGIN_MS = 5000;
// Where nothing tells how long a process has waited, a busy machine must not pass for a file that hangs.
const PATIENCE = 3;

/** Whether the process came up; null where it did, else why not. Never rejects. */
export const startUp = ({ conversation, ...line }: Line, maxResultBytes: number): Promise<string | null> =>
  new Promise((resolve) => {
    const nonce = line.createNonce();
    const timer = setTimeout(() => {
      resolve(`its process did not start within ${START_MS / 1000} s`);
      line.kill('timeout');
    }, START_MS);
    const settle = (problem: string | null): void => {
      clearTimeout(timer);
      resolve(problem);
    };
    conversation.expectReady(nonce, () => settle(null));
    void line.ended.then((death) => settle(toEndReason(death, 'starting')));
    line.send({ type: 'start', nonce, maxResultBytes }, '');
  });

/** Has a host load a file; gives what its tools say of themselves, or why it could not. Never rejects. */
export const startLoading = (
  { conversation, ...line }: Line,
  order: Omit<Extract<HostOrder, { type: 'load' }>, 'type' | 'nonce'>,
  body: string,
  maxLoadMs: number,
): Promise<HostLoad> =>
  new Promise((resolve) => {
    const nonce = line.createNonce();
    const giveUp = (reason: string) => (): void => {
      settle({ kind: 'broken', reason });
      line.kill('timeout');
    };
    const startClock = (ms: number, what: string): (() => void) => {
      const maxMs = line.waitedMs() === null ? ms * PATIENCE : ms;
      const onOver = giveUp(`${what} within ${maxMs / 1000} s`);
      return startLoadClock({ maxMs, waitedMs: () => line.waitedMs() ?? 0, now: line.now, onOver });
    };
    let stopClock = startClock(BEGIN_MS, 'its process did not begin to load it');
    const settle = (load: HostLoad): void => {
      stopClock();
      resolve(load);
    };
    conversation.expectLoad(nonce, {
      onLoading: () => {
        stopClock();
        stopClock = startClock(maxLoadMs, 'it did not finish loading');
      },
      onLoaded: settle,
    });
    void line.ended.then((death) => settle({ kind: 'broken', reason: toEndReason(death, 'loading') }));
    line.send({ type: 'load', nonce, ...order }, body);
  });

const toEndReason = ({ exitCode, signal, lastLines }: Death, doing: string): string => {
  const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
  return [`its process ended while ${doing}: ${how}`, ...lastLines.slice(-3)].join(' | ');
};
