import type { Caller } from 'recourse-server/auth/callers';
import { KEPT_BELOW_PERCENT } from 'recourse-server/store/store-observer';
import type { OverviewWarning, ReplicaState } from '../contract/contract.ts';
import type { ReplicaReport } from './replica-report.ts';

/** Who reads. */
export type Viewer = Pick<Caller, 'tenant' | 'tools' | 'mayUse' | 'may'>;

const MOST_CLOCK_MS = 5000;

type Found = { readonly code: string; readonly message: string } | null;

/** What is wrong with a replica by its own report: each a sentence of what it is, and one of what to do. */
const CHECKS: readonly ((report: ReplicaReport, viewer: Viewer) => Found)[] = [
  ({ stale_config: reason }, { tools }) =>
    reason === null
      ? null
      : {
          code: 'config_file_stale',
          // It may name tools of others.
          message: `CONFIG_FILE was changed and cannot be used${tools === 'all' && reason !== '' ? `: ${reason.replace(/\.$/, '')}` : ''}. Its previous version is in effect; correct the file, it is read again at once.`,
        },
  ({ stale_keys: isStale }) =>
    isStale
      ? {
          code: 'api_keys_stale',
          message:
            'API_KEYS_FILE was changed and is invalid. The previous keys are in effect: new ones do not work, removed ones still do. Correct the lines that the log names; the file is read again at once.',
        }
      : null,
  ({ missing_tools: entries }, { tools, mayUse }) => {
    const missing = tools === 'all' ? entries : entries.filter(mayUse);
    return missing.length === 0
      ? null
      : {
          code: 'tools_missing',
          message: `TOOLS_REQUIRED names what does not serve: ${missing.join(', ')}. Look at the tool files that do not load and at the upstreams.`,
        };
  },
  ({ store: { status } }) =>
    status === 'up'
      ? null
      : {
          code: 'store_down',
          message:
            'The store does not answer: sessions are counted by each replica alone, and what other replicas say is missing here. Look at the store, and at the network between.',
        },
  ({ store: { used_bytes: used, max_bytes: max } }) => {
    const percent = used === null || max === null || max === 0 ? 0 : Math.floor((used * 100) / max);
    return percent < KEPT_BELOW_PERCENT.journals
      ? null
      : {
          code: 'store_full',
          message: `The store is more than ${KEPT_BELOW_PERCENT.journals} % full: journals and results are not kept any more, and from ${KEPT_BELOW_PERCENT.arguments} % on no pending calls are accepted. Give it more memory, or shorten SESSION_TTL_SECONDS.`,
        };
  },
  ({ store: { policy } }) =>
    policy === null || policy === 'noeviction'
      ? null
      : {
          code: 'store_evicts',
          message: `Redis may evict budgets and marks of writes, by its maxmemory-policy ${policy}. Set it to noeviction.`,
        },
  ({ clock_ahead_ms: aheadMs }) =>
    Math.abs(aheadMs) < MOST_CLOCK_MS
      ? null
      : {
          code: 'clock_differs',
          message: `The clock of the process and that of the store differ by more than ${MOST_CLOCK_MS / 1000} s: times in logs and in answers do not fit together. Synchronise both by NTP.`,
        },
];

/** What people on call should know that nothing else of the states shows. */
export const findWarnings = (
  reports: readonly ReplicaReport[],
  replicas: readonly ReplicaState[],
  viewer: Viewer,
): OverviewWarning[] => {
  const silent = replicas.filter(({ is_silent: isSilent }) => isSilent).map(({ replica }) => replica);
  // By their places: a container that is started again has the name of the process before.
  const heard = reports.filter((_, place) => replicas[place]?.is_silent === false);
  const found = heard.flatMap((report) =>
    CHECKS.flatMap((check) => {
      const warning = check(report, viewer);
      return warning === null ? [] : [{ ...warning, replica: report.replica }];
    }),
  );
  const ofReplicas = [...Map.groupBy(found, ({ code, message }) => `${code} ${message}`).values()].flatMap((same) =>
    same.slice(0, 1).map(({ code, message }) => ({ code, message, replicas: same.map(({ replica }) => replica) })),
  );
  return [...findSilent(silent), ...findVersions(heard), ...findUnserved(heard), ...ofReplicas];
};

const findSilent = (silent: readonly string[]): readonly OverviewWarning[] =>
  silent.length === 0
    ? []
    : [
        {
          code: 'replica_silent',
          message: `No report for 30 s from ${silent.join(', ')}: it was killed, it hangs, or it does not reach the store. Look at its log; it is left out here an hour after its last report.`,
          replicas: [...silent],
        },
      ];

const findVersions = (heard: readonly ReplicaReport[]): readonly OverviewWarning[] => {
  const versions = [...Map.groupBy(heard, ({ version }) => version)];
  if (versions.length < 2) return [];
  const list = versions.map(([version, same]) => `${version} (${same.map(({ replica }) => replica).join(', ')})`);
  return [
    {
      code: 'versions_differ',
      message: `Replicas run different versions: ${list.join('; ')}. End the roll-out, or roll it back.`,
      replicas: heard.map(({ replica }) => replica),
    },
  ];
};

/** Lanes in which calls wait for a process that does not exist. */
const findUnserved = (heard: readonly ReplicaReport[]): readonly OverviewWarning[] => {
  const lanes = [
    ...Map.groupBy(
      heard.flatMap(({ lanes: said }) => said),
      ({ lane }) => lane,
    ),
  ];
  return lanes.flatMap(([lane, same]) => {
    const isUnserved = same.every(({ is_served: isServed }) => !isServed) && same.some(({ queued }) => queued > 0);
    const message = `Calls wait in the lane ${lane}, and no process takes them. Start a process with ROLE=worker whose WORKER_LANES names the lane.`;
    return isUnserved ? [{ code: 'lane_without_worker', message, replicas: [] }] : [];
  });
};
