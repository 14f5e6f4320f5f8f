import type { RenderedResult } from '../contract/tool-result.ts';
import type { PartsWatch } from '../sessions/calls/call-signals.ts';
import type { PendingService } from './pending-service.ts';

/** The parts of the calls of one batch: each call once, under the index that it was first named by. */
export type AnsweredParts = {
  /** Resolves when the parts of the call arrive. Never rejects. */
  readonly watch: (index: number, handle: string) => Promise<void>;
  /** The same for those of the results that are pending. */
  readonly watchResults: (results: readonly RenderedResult[]) => void;
  readonly stop: () => void;
};

/** Watches calls of a tenant for one reader. `listener`: JSON text. */
export type WatchAnsweredParts = (
  tenant: string,
  listener: (index: number, valueJson: string) => void,
) => AnsweredParts;

export const createWatchAnsweredParts =
  ({ watchParts }: Pick<PendingService, 'watchParts'>): WatchAnsweredParts =>
  (tenant, listener) => {
    const watches = new Map<string, PartsWatch>();
    let isOver = false;
    const watch: AnsweredParts['watch'] = async (index, handle) => {
      if (isOver || watches.has(handle)) return;
      const started = watchParts(tenant, handle, (valueJson) => listener(index, valueJson));
      watches.set(handle, started);
      await started.ready;
    };
    return {
      watch,
      watchResults: (results) => {
        for (const [index, { handle }] of results.entries()) {
          if (handle !== null) void watch(index, handle);
        }
      },
      stop: () => {
        isOver = true;
        for (const { stop } of watches.values()) stop();
      },
    };
  };
