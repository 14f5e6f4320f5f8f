import type { LoadedToolFile } from '../tools/directory/load-tool-file.ts';
import type { ToolFile } from '../tools/tool.ts';
import type { HostConversation } from './host-conversation.ts';
import type { HostOrder } from './host-messages.ts';
import type { Death, KillReason } from './isolation-observer.ts';

// The clock of a file starts when its process is up: a busy machine is not the file's fault.
const START_MS = 15_000;

/** Has a host load its file; gives what its tools say of themselves, or why it could not. Never rejects. */
export const startLoading = (terms: {
  readonly file: ToolFile;
  readonly sources: readonly (readonly [path: string, text: string])[];
  readonly maxLoadMs: number;
  readonly maxResultBytes: number;
  readonly createNonce: () => string;
  readonly conversation: HostConversation;
  readonly send: (order: HostOrder, body: string) => void;
  readonly kill: (reason: KillReason) => void;
  readonly ended: Promise<Death>;
}): Promise<LoadedToolFile> =>
  new Promise((resolve) => {
    const { file, conversation, maxLoadMs, maxResultBytes } = terms;
    const nonce = terms.createNonce();
    const settle = (loaded: LoadedToolFile): void => {
      clearTimeout(timer);
      resolve(loaded);
    };
    const giveUp = (reason: string) => (): void => {
      settle({ kind: 'failed', reason });
      terms.kill('timeout');
    };
    let timer = setTimeout(giveUp(`its process did not start within ${START_MS / 1000} s`), START_MS);
    conversation.expectLoad(nonce, {
      onLoading: () => {
        clearTimeout(timer);
        timer = setTimeout(giveUp(`it did not finish loading within ${maxLoadMs / 1000} s`), maxLoadMs);
      },
      onLoaded: settle,
    });
    void terms.ended.then((death) => settle({ kind: 'failed', reason: toEndReason(death) }));
    const order = { path: file.path, root: file.root, maxResultBytes };
    terms.send({ type: 'load', nonce, ...order }, JSON.stringify(terms.sources));
  });

const toEndReason = ({ exitCode, signal, lastLines }: Death): string => {
  const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
  return [`its process ended while loading: ${how}`, ...lastLines.slice(-3)].join(' | ');
};
