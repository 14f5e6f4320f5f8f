import { pendingText } from 'recourse-server/executor/pending-result';
import type { PendingTask, PendingTasks } from 'recourse-server/routes/pending-tasks';
import type { KnownCall, PendingService } from './pending-service.ts';

/** Pending calls as tasks. */
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

const toTask = ({ spec, state }: KnownCall, now: number): PendingTask => {
  const about = {
    tool: spec.tool,
    createdAt: new Date(spec.acceptedAt).toISOString(),
    expiresAt: new Date(spec.expiresAt).toISOString(),
    updatedAt: new Date(now).toISOString(),
  };
  if (state.kind === 'ended')
    return { ...about, state: 'ended', message: '', pollAfterMs: 0, approval: null, result: state.result };
  const { pending } = state;
  return {
    ...about,
    state: pending.state === 'running' ? 'running' : 'queued',
    message: pendingText(spec.name, pending, now - spec.acceptedAt),
    pollAfterMs: pending.poll_after_ms,
    approval: pending.approval,
    result: null,
  };
};
