import type { KnownCall, PendingService } from '@recourse/background/pending-service';
import type { PendingTasks } from '@recourse/mcp-server/tasks';
import { pendingText } from '../executor/pending-result.ts';

/** Pending calls as `/mcp` tells tasks. */
export const createPendingTasks = (
  service: Pick<PendingService, 'lookUp' | 'cancel'>,
  time: () => number,
): PendingTasks => ({
  find: async (tenant, handle, waitMs) => {
    const known = await service.lookUp(tenant, handle, waitMs);
    return known === null ? null : toTask(known, time());
  },
  cancel: (tenant, handle) => service.cancel(tenant, handle, 'asked'),
});

const toTask = ({ spec, state }: KnownCall, now: number): Awaited<ReturnType<PendingTasks['find']>> => {
  const about = {
    tool: spec.tool,
    createdAt: new Date(spec.acceptedAt).toISOString(),
    expiresAt: new Date(spec.expiresAt).toISOString(),
    updatedAt: new Date(now).toISOString(),
  };
  if (state.kind === 'ended') return { ...about, state: 'ended', message: '', pollAfterMs: 0, result: state.result };
  const { pending } = state;
  return {
    ...about,
    state: pending.state === 'running' ? 'running' : 'queued',
    message: pendingText(spec.name, pending, now - spec.acceptedAt),
    pollAfterMs: pending.poll_after_ms,
    result: null,
  };
};
