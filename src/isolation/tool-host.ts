import type { LoadedToolFile } from '../tools/directory/load-tool-file.ts';
import type { HostedTool, ToolFile } from '../tools/tool.ts';
import { createFrameReader, encodeFrame } from './frames.ts';
import { type CallListener, HostConversation, type HostListener } from './host-conversation.ts';
import type { HostOrder } from './host-messages.ts';
import type { Death, KillReason } from './isolation-observer.ts';
import { type HostLaunch, type HostProcess, launchHost } from './launch-host.ts';
import { createOutputTail } from './output-tail.ts';
import { endFamily, endProcess } from './process-control.ts';
import { createRunningCall, type HostedEnd, type RunningCall } from './running-call.ts';
import { startLoading } from './start-loading.ts';

/** What a call in a host needs. */
export type HostedCall = Pick<CallListener, 'tool' | 'log' | 'progress'> & {
  readonly tool: HostedTool;
  readonly input: Readonly<Record<string, unknown>>;
  readonly session: string | null;
  readonly callId: string | number | null;
  readonly retriesLeft: number;
  readonly idempotencyKey: string | null;
  readonly traceparent: string | null;
  readonly graceful: 'on' | 'off';
  readonly timeoutMs: number;
};

export type HostSettings = {
  readonly launch: HostLaunch;
  /** Time to load the file, once the process is up. */
  readonly maxLoadMs: number;
  readonly maxResultBytes: number;
  readonly createNonce: () => string;
  readonly listener: HostListener & { readonly onLine: (stream: 'stdout' | 'stderr', line: string) => void };
};

/** One tool host as the service sees it: a process that has loaded one file and answers one call at a time. */
export type ToolHost = {
  readonly pid: number;
  /** Never rejects. */
  readonly loaded: Promise<LoadedToolFile>;
  /** Runs a call; never rejects. One at a time. */
  readonly run: (call: HostedCall) => Promise<HostedEnd>;
  /** Aborts the signal of the call that runs. */
  readonly abort: (reason: 'TimeoutError' | 'AbortError') => void;
  /** Ends the whole process group at once. */
  readonly kill: (reason: KillReason) => void;
  readonly ended: Promise<Death>;
  readonly isEnding: () => boolean;
  /** Whether its state can be trusted no more: a call changed it, or something was thrown behind its back. */
  readonly isSpent: () => boolean;
  /** Calls it has answered. */
  readonly answered: () => number;
};

// What a process wrote last may be read after it has ended; a grandchild may hold its pipes open for ever.
const LAST_WORDS_MS = 50;

/** Starts a host for one version of a file; null where the system gives no process. */
export const createToolHost = (
  file: ToolFile,
  sources: readonly (readonly [path: string, text: string])[],
  settings: HostSettings,
): ToolHost | null => {
  const started = launchHost(settings.launch);
  if (started === null) return null;
  const { pid, channel } = started;
  let killedFor: KillReason | null = null;
  let ending: Death | null = null;
  let spent = false;
  let answered = 0;
  let running: RunningCall | null = null;

  const kill = (reason: KillReason): void => {
    // Its number may be another process's by now.
    if (ending !== null) return;
    const isFirst = killedFor === null;
    killedFor ??= reason;
    if (isFirst) endFamily(pid);
  };
  const onUnfit: HostListener['onUnfit'] = (tool, reason) => {
    spent = true;
    settings.listener.onUnfit(tool, reason);
    // A call that runs still ends by itself; one that was sent meanwhile never begins, and another host takes it.
    if (running === null || !running.hasBegun()) kill('recycle');
  };
  const conversation = new HostConversation({ ...settings.listener, onUnfit }, settings.maxResultBytes, kill);
  const reader = createFrameReader({
    maxBodyBytes: Math.max(settings.maxResultBytes, MIN_BODY_BYTES),
    onFrame: (frame) => conversation.read(frame),
    onFault: () => kill('flood'),
  });
  const output = watchOutput(started, settings, kill);
  const ended = whenEnded(started, () => ({ killedFor, lastLines: output.lines() })).then((death) => {
    ending = death;
    running?.die(death);
    return death;
  });
  channel.on('data', reader.read);
  channel.on('error', () => undefined);
  // Its code may have closed the line. Where it is only ending, what it ended with is told shortly.
  channel.on('end', () => setTimeout(() => ending ?? kill('forgery'), LAST_WORDS_MS * 2).unref());
  const send = (order: HostOrder, body: string): void => void channel.write(encodeFrame(JSON.stringify(order), body));

  return {
    pid,
    loaded: startLoading({ ...settings, file, sources, conversation, send, kill, ended }),
    run: (call) => {
      const nonce = settings.createNonce();
      output.reset();
      if (ending !== null) return Promise.resolve({ kind: 'died', death: ending, began: false });
      return new Promise((resolve) => {
        const current = createRunningCall({ nonce, timeoutMs: call.timeoutMs }, () => kill('recycle'), resolve);
        running = current;
        conversation.expectCall(nonce, {
          ...call,
          onBegan: current.begin,
          onEnd: (end) => {
            current.begin();
            running = null;
            answered += 1;
            resolve({ kind: 'ended', outcome: end });
          },
        });
        send(toCallOrder(nonce, call), JSON.stringify(call.input));
      });
    },
    abort: (reason) => {
      if (running !== null) send({ type: 'abort', nonce: running.nonce, reason }, '');
    },
    kill,
    ended,
    isEnding: () => ending !== null || killedFor !== null,
    isSpent: () => spent,
    answered: () => answered,
  };
};

// Descriptions of a file's tools may be larger than any result.
const MIN_BODY_BYTES = 8_388_608;

const toCallOrder = (nonce: string, call: HostedCall): HostOrder => ({
  type: 'call',
  nonce,
  role: call.tool.role,
  tool: call.tool.name,
  session: call.session,
  callId: call.callId,
  // Of the service's tool: its operator may have said otherwise than the file.
  effects: call.tool.effects,
  retriesLeft: call.retriesLeft,
  timeoutMs: call.timeoutMs,
  idempotencyKey: call.idempotencyKey,
  traceparent: call.traceparent,
  graceful: call.graceful,
});

const watchOutput = (host: HostProcess, { listener }: HostSettings, kill: ToolHost['kill']) => {
  const onFlood = (): void => kill('flood');
  const stdout = createOutputTail(host.stdout, { onLine: (line) => listener.onLine('stdout', line), onFlood });
  const stderr = createOutputTail(host.stderr, { onLine: (line) => listener.onLine('stderr', line), onFlood });
  return {
    lines: stderr.lines,
    reset: (): void => {
      stdout.reset();
      stderr.reset();
    },
  };
};

const whenEnded = (
  { child, pid, ...streams }: HostProcess,
  circumstances: () => Pick<Death, 'killedFor' | 'lastLines'>,
): Promise<Death> =>
  new Promise((resolve) => {
    child.once('exit', (exitCode, signal) => {
      // Whatever it started in its process group ends with it.
      endProcess(-pid);
      const tell = (): void => {
        clearTimeout(timer);
        for (const stream of Object.values(streams)) stream.destroy();
        resolve({ pid, exitCode, signal, ...circumstances() });
      };
      const timer = setTimeout(tell, LAST_WORDS_MS);
      child.once('close', tell);
    });
  });
