import type { Logger } from 'pino';
import type { AuditChoice } from 'recourse-server/config/settings/audit-choice';
import type { Config } from 'recourse-server/config/settings/config';
import type { Audit } from 'recourse-server/executor/audit';
import type { Redactor } from 'recourse-server/executor/redactor';
import { describeCauses } from 'recourse-server/telemetry/describe-error';
import type { Metrics } from 'recourse-server/telemetry/metrics';
import { createQuietLine } from 'recourse-server/telemetry/repeated-lines';
import type { Tool } from 'recourse-server/tools/tool';
import {
  AUDIT_VERSION,
  type CircuitClosedEvent,
  type ContradictionEvent,
  type DecisionEvent,
  MAX_AUDIT_ID,
  type VerdictEvent,
} from './audit-event.ts';
import { AuditFile } from './audit-file.ts';
import { createAuditMetrics } from './audit-metrics.ts';
import { type AuditSink, createStdoutSink, type SinkObserver } from './audit-sink.ts';
import { createCallLine } from './call-lines.ts';
import { readEnd } from './read-end.ts';

export type AuditParts = {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly redactor: Pick<Redactor, 'cut'>;
  readonly now: () => number;
  /** What a tool is: `sha256:` and 64 hex digits. */
  readonly digestOf: (tool: Tool) => string;
  /** Writes lines where the log goes; false: nobody reads them any more. */
  readonly writeOut: (text: string) => boolean;
};

/** The audit log, for the executor and for what is decided beside it. */
export type AuditLog = {
  /** null: it is off. */
  readonly calls: Audit | null;
  readonly decided: (event: DecisionEvent) => void;
  readonly settled: (event: VerdictEvent) => void;
  readonly contradicted: (event: ContradictionEvent) => void;
  readonly circuitClosed: (event: CircuitClosedEvent) => void;
  /** The file was moved; undefined where there is none. */
  readonly reopen?: () => void;
  /** For a process that exits without closing it. */
  readonly flushSync?: () => void;
  readonly close: () => Promise<void>;
};

/** Opens the audit log that the settings name. */
export const openAudit = async (
  config: Config,
  choice: Exclude<AuditChoice, { kind: 'off' }>,
  parts: AuditParts,
): Promise<AuditLog> => {
  const { log, writeOut } = parts;
  const counted = createAuditMetrics(parts.metrics);
  const observer: SinkObserver = {
    lost: counted.lost,
    changed: (problem) => {
      if (problem === null) log.info('audit log can be written again');
      else log.error({ problem }, 'audit log cannot be written');
    },
  };
  if (choice.kind === 'stdout') return createLog(config, parts, createStdoutSink(writeOut, observer), counted);
  const file = new AuditFile({ ...observer, path: choice.path });
  await file.flush();
  return {
    ...createLog(config, parts, file, counted),
    reopen: () => file.reopen(),
    flushSync: () => file.flushSync(),
  };
};

const createLog = (
  config: Config,
  { log, redactor, now, digestOf }: AuditParts,
  sink: AuditSink,
  counted: ReturnType<typeof createAuditMetrics>,
): AuditLog => {
  counted.watch(() => sink.isUp());
  const time = createIsoTime();
  const lineOf = createCallLine({ shown: config.AUDIT_ARGUMENTS, redactor, digestOf });
  const failed = createQuietLine({ write: (fields) => log.error(fields, 'audit line failed'), now });
  /** A line that cannot be made must not cost a call its answer. */
  const write = (makeLine: () => string): void => {
    try {
      sink.write(makeLine());
    } catch (error) {
      counted.lost(1);
      failed(() => ({ causes: describeCauses(error) }));
    }
  };
  const add = (kind: string, event: object): void =>
    write(() => JSON.stringify({ audit: AUDIT_VERSION, time: time(), kind, ...event }));
  const cut = (text: string): string => redactor.cut(text, MAX_AUDIT_ID, 'log');
  const settled = (event: VerdictEvent): void => add('verdict', { ...event, request_id: cut(event.request_id) });
  const required = config.AUDIT_REQUIRED;
  return {
    calls: {
      called: (call) => write(() => lineOf(call, time())),
      endedLate: ({ index, effectId, tool, missingTool, batch: { request } }, end) =>
        settled({
          ...{
            tenant: request.tenant,
            tool: tool?.name ?? missingTool,
            effect_id: effectId,
            session: request.sessionKey,
          },
          ...{ request_id: request.requestId, index: request.resumed?.spec.index ?? index },
          ...{ by: 'run', ...readEnd(end), attempts: 0 },
        }),
      refusesWrites: () => required && !sink.isUp(),
    },
    decided: ({ request_id: requestId, ...event }) =>
      add('decision', { ...event, request_id: requestId === null ? null : cut(requestId) }),
    settled,
    contradicted: (event) => add('contradiction', event),
    circuitClosed: (event) => add('circuit_closed', { ...event, tool: null, request_id: cut(event.request_id) }),
    close: () => sink.close(),
  };
};

/** ISO time, made once a millisecond. */
const createIsoTime = (): (() => string) => {
  let last = Number.NaN;
  let text = '';
  return () => {
    const at = Date.now();
    if (at !== last) {
      last = at;
      text = new Date(at).toISOString();
    }
    return text;
  };
};
