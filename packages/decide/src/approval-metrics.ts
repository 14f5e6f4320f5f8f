import type { Metrics } from 'recourse-server/telemetry/metrics';
import { createDefinitions } from 'recourse-server/telemetry/tally';
import type { ApprovalEvent } from './approvals/approval-book.ts';
import type { WaitingSample } from './approvals/approval-sweep.ts';

// A person takes seconds to hours.
const BUCKETS = [1, 5, 15, 60, 300, 900, 1800, 3600, 14_400, 86_400];

/** What is counted of approvals; adds its metrics to those of the service. */
export const createApprovalMetrics = ({ registry, toolNames }: Pick<Metrics, 'registry' | 'toolNames'>) => {
  const { counter, gauge, histogram } = createDefinitions(registry, toolNames);
  const events = counter('approvals_total', 'Approvals, by what became of them: each is first requested.', [
    'tool',
    'decision',
  ]);
  const waits = histogram('approval_wait_seconds', 'How long calls waited until a person had decided.', [], BUCKETS);
  let sample: WaitingSample = { waiting: 0, pastHalf: 0, oldestMs: 0 };
  const show = (name: string, help: string, read: () => number): void =>
    void gauge(name, help, [], (shown) => shown.set(read()));
  show(
    'approvals_waiting',
    'Approvals that wait for a person now; every replica shows the same number.',
    () => sample.waiting,
  );
  show(
    'approvals_past_half',
    'Those of them that have waited for more than half of their time.',
    () => sample.pastHalf,
  );
  show(
    'approval_oldest_seconds',
    'For how long the oldest of them has waited; 0: there is none.',
    () => sample.oldestMs / 1000,
  );
  return {
    happened: (tool: string, decision: ApprovalEvent): void => {
      events({ tool, decision }).count += 1;
    },
    decided: (waitedMs: number): void => waits({}).observe(waitedMs / 1000),
    sampled: (next: WaitingSample): void => {
      sample = next;
    },
  };
};
